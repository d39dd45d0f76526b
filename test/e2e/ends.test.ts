/** A process that is told to stop ends, whatever moment of its start it is in. `EFFORT=50` stops
 *  each kind at fifty moments. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../support/program/ports.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { effort } from '../support/effort.ts'
import { programFlags } from '../support/program/program-flags.ts'
import { startProgram } from '../support/program/program.ts'

const moments = effort

/** One moment further than the start takes. */
const lastSteps = 20

interface Kind {
  readonly args: readonly string[]
  /** Said on standard output once the start is over. */
  readonly started: string
}

const serve = ['serve', '--listen', 'http://127.0.0.1:0']

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...programFlags(), '.', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Resolves to the milliseconds of a start when nobody stops it. */
async function startMs(kind: Kind): Promise<number> {
  const began = Date.now()
  const child = start(kind.args)
  child.stderr!.resume()
  let text = ''
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    text += piece.toString()
    if (text.includes(kind.started)) break
  }
  const took = Date.now() - began
  child.kill()
  await once(child, 'close')
  return took
}

async function endsAlways(t: Test, kind: Kind): Promise<void> {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
  t.comment(`SEED=${seed}`)
  const random = createRandom(seed)
  const wholeMs = await startMs(kind)
  for (let i = 0; i < moments; i++) {
    const afterMs = Math.round((wholeMs * randomInt(random, 0, lastSteps + 4)) / lastSteps)
    const name = (['SIGTERM', 'SIGINT'] as const)[randomInt(random, 0, 1)] as 'SIGTERM' | 'SIGINT'
    const child = start(kind.args)
    let log = ''
    child.stdout!.resume()
    child.stderr!.on('data', (piece: Buffer) => (log += piece.toString()))
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
    await delay(afterMs)
    child.kill(name)
    const [code, signal] = await exited
    // Before our own handler is there, the system ends it; one that fills its etcd says how far.
    const isRight =
      signal === name || [0, 130, 143].includes(code ?? -1) || log.includes(' stopped ')
    t.ok(isRight, `${name} after ${afterMs} ms: ${code} ${signal} ${isRight ? '' : log}`)
  }
}

const kinds: readonly [string, Kind][] = [
  ['serve', { args: serve, started: 'serves the Kubernetes API' }],
  [
    'serve with made-up nodes and controllers',
    {
      args: [
        ...serve,
        '--generate',
        'pods=100',
        '--churn',
        '50/s',
        '--simulate',
        'nodes,deployments,jobs',
      ],
      started: 'serves the Kubernetes API',
    },
  ],
  ['run', { args: ['run', '--', 'sh', '-c', 'echo began; exec sleep 600'], started: 'began' }],
  [
    'run with made-up nodes',
    {
      args: ['run', '--simulate', 'nodes', '--', 'sh', '-c', 'echo began; exec sleep 600'],
      started: 'began',
    },
  ],
]

for (const [name, kind] of kinds) t.test(`${name} ends`, t => endsAlways(t, kind))

t.test('a writer with made-up nodes on an etcd that is given ends', async t => {
  const etcd = `127.0.0.1:${await freePort()}`
  await startProgram(t, ['--etcd-listen', etcd])
  const args = [...serve, '--etcd', `http://${etcd}`, '--writable', '--simulate', 'nodes']
  await endsAlways(t, { args, started: 'serves the Kubernetes API' })
})
