import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { readRecording } from '../../../lib/cli/commands/recordings/recording.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { programFlags } from '../../support/program/program-flags.ts'

const cli = fileURLToPath(new URL('../../../program/cli.js', import.meta.url))
const etcd = await findEtcd('3.5')

interface Run {
  readonly process: ChildProcess
  /** Resolves when the log has a line with that text. */
  readonly logged: (text: string) => Promise<void>
  readonly log: () => string
}

function runRecord(t: Test, args: readonly string[]): Run {
  const child = spawn(process.execPath, [...programFlags(), cli, 'record', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  return {
    process: child,
    log: () => log,
    logged: async text => {
      while (!log.includes(text)) await once(child.stderr, 'data')
    },
  }
}

async function put(client: Client, key: string, value: string): Promise<void> {
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value: Buffer.from(value) }],
    failure: [],
  })
}

/** Resolves once the file holds the text. */
async function hasText(path: string, text: string): Promise<void> {
  while (!readFileSync(path, 'utf8').includes(text)) {
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

t.test('a recording of a real etcd replays to what etcd has', { skip: etcd.skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const client = new GrpcClient({ endpoints: cluster.endpoints })
  t.teardown(() => client.close())
  for (let i = 0; i < 700; i++) await put(client, `/base/${i}`, `value ${i}`)
  const out = join(t.testdir(), 'history.jsonl')
  const run = runRecord(t, ['--etcd', cluster.endpoints.join(','), '--out', out])
  await run.logged('recording every change')
  for (let i = 0; i < 50; i++) await put(client, `/base/${i}`, 'changed')
  await cluster.members[0]!.kill()
  await run.logged('goes on from the next revision')
  await cluster.members[0]!.restart()
  for (let i = 50; i < 100; i++) await put(client, `/new/${i}`, 'new')
  await put(client, '/end', 'the last change')
  const { entries } = await client.range({ range: allKeys })
  await hasText(out, Buffer.from('the last change').toString('base64'))
  run.process.kill('SIGINT')
  const [code] = (await once(run.process, 'exit')) as [number]
  t.equal(code, 0, run.log())
  const replayed = new Map<string, KeyValue>()
  for await (const { changes } of readRecording(out)) {
    for (const change of changes) {
      if (change.type === 'put') replayed.set(change.entry.key, change.entry)
      else replayed.delete(change.key)
    }
  }
  t.equal(replayed.size, 751)
  for (const entry of entries) {
    const mine = replayed.get(entry.key)
    t.ok(mine !== undefined && Buffer.compare(mine.value, entry.value) === 0)
    t.equal(mine?.modRevision, entry.modRevision)
  }
})

t.test('a start that etcd has compacted is refused clearly', { skip: etcd.skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const client = new GrpcClient({ endpoints: cluster.endpoints })
  t.teardown(() => client.close())
  for (let i = 0; i < 10; i++) await put(client, '/key', `${i}`)
  const { header } = await client.range({ range: allKeys })
  await client.compact(header.revision)
  const out = join(t.testdir(), 'history.jsonl')
  const run = runRecord(t, ['--etcd', cluster.endpoints[0]!, '--out', out, '--revision', '3'])
  const [code] = (await once(run.process, 'exit')) as [number]
  t.equal(code, 1)
  t.match(run.log(), /etcd has compacted revision 3: nothing can be recorded from there/)
})
