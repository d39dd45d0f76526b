import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { programFlags } from '../support/program/program-flags.ts'

const history = 'test/golden/data/1.36/history.jsonl.gz'

/** The address at which the program logs that its etcd listens. */
async function addressOf(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const { etcd } = JSON.parse(line) as { etcd?: string }
    if (etcd !== undefined) return etcd
  }
  throw new Error('the program has ended')
}

t.test('the embedded etcd serves a recorded history until it is told to stop', async t => {
  const args = [
    ...programFlags(),
    '.',
    'serve',
    '--etcd',
    'embedded',
    '--listen',
    'none',
    '--etcd-listen',
    '127.0.0.1:0',
    '--load',
    history,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const client = new GrpcClient({ endpoints: [`http://${await addressOf(child)}`] })
  const range = prefixRange(keyFromText('/registry/'))
  const { header, count } = await client.range({ range, countOnly: true })
  t.equal(header.revision, 801)
  t.ok(count > 400)
  await client.close()
  child.kill('SIGTERM')
  t.strictSame(await exited, [0, null])
})

t.test('the embedded etcd says what it cannot listen on or load', async t => {
  const run = (...args: string[]): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [...programFlags(), '.', 'serve', '--listen', 'none', ...args], {
      encoding: 'utf8',
    })
  const cases: [string[], RegExp][] = [
    [
      ['--etcd', 'embedded', '--etcd-listen', 'nowhere'],
      /--etcd-listen "nowhere" is not HOST:PORT/,
    ],
    [
      ['--etcd', 'embedded', '--etcd-listen', '127.0.0.1:0', '--load', 'package.json'],
      /package\.json line 1: /,
    ],
  ]
  for (const [args, message] of cases) {
    t.match(run(...args), { status: 2, stderr: message }, args.join(' '))
  }
})
