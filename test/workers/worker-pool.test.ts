/** Real threads: each serves on the one port from shared memory; one that dies is replaced. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import type { Logger } from '../../lib/base/logger.ts'
import { Mirror } from '../../lib/cache/mirror/mirror.ts'
import { MirrorSet } from '../../lib/cache/mirror/mirror-set.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { noMetrics } from '../../lib/cache/mirror/metrics.ts'
import { systemClock, systemRandom } from '../../lib/cache/ops/system.ts'
import { shareSlabs } from '../../lib/store/slab.ts'
import { MirrorSide } from '../../lib/workers/mirror/mirror-side.ts'
import { sharePort } from '../../lib/workers/process/listening.ts'
import { WorkerPool } from '../../lib/workers/process/worker-pool.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { silentLogger } from '../support/silent-logger.ts'
import { historyBounds } from '../support/mirror/mirror-builders.ts'
import { hasThreads } from '../support/runner/other-node.ts'

interface Toy {
  readonly number: number
  readonly values: readonly string[]
  readonly isShared: boolean
  readonly isPassing: boolean
}

const skip = !hasThreads && 'this Node cannot have several threads'

t.test('threads serve one port from one memory; one that dies is replaced', { skip }, async t => {
  shareSlabs()
  const { client } = createTestEngine(t)
  const put = (key: string, value: string): Promise<unknown> =>
    client.txn({
      compares: [],
      success: [{ type: 'put', key: keyFromText(key), value: Buffer.from(value) }],
      failure: [],
    })
  await put('/r/a/1', 'one')
  let mirrorSide: MirrorSide | undefined
  const errors: string[] = []
  const logger: Logger = { ...silentLogger, error: message => void errors.push(message) }
  const mirror = new Mirror({
    client,
    clock: systemClock,
    random: systemRandom,
    limits: defaultLimits,
    logger,
    metrics: noMetrics,
    sink: {
      applied: name => mirrorSide?.applied(name),
      progressed: () => mirrorSide?.progressed(),
      reset: name => mirrorSide?.reset(name),
      stateChanged: name => mirrorSide?.stateChanged(name),
    },
    onFactsChanged: () => mirrorSide?.factsChanged(),
    ranges: [prefixRange(keyFromText('/r/'))],
    keyspaceOf: key => (key.startsWith('/r/a/') ? '/r/a/' : undefined),
  })
  const mirrors = new MirrorSet([mirror])
  mirrors.add({ name: '/r/a/', range: prefixRange(keyFromText('/r/a/')), history: historyBounds })
  mirrorSide = new MirrorSide({
    mirrors,
    clients: [client],
    keyspaceOf: () => '/r/a/',
    clock: systemClock,
  })
  mirrors.start()
  const dead: number[] = []
  const pool = await WorkerPool.start({
    count: 2,
    mirrorSide,
    port: await sharePort('127.0.0.1', 0),
    script: new URL('../support/mirror/toy-thread.js', import.meta.url),
    program: () => undefined,
    clock: systemClock,
    random: systemRandom,
    logger,
    answer: async question => {
      if (question !== 'a word') throw new CacheError('overloaded', 'no such word')
      return 'the answer'
    },
    onDeath: number => dead.push(number),
    problems: () => ({}),
  })
  t.teardown(async () => {
    await pool.stop()
    await mirrors.stop()
  })
  await pool.ready
  const ask = async (path = '/'): Promise<Toy> => {
    const response = await fetch(`http://127.0.0.1:${pool.port}${path}`)
    return (await response.json()) as Toy
  }
  /** Asks until both threads have answered. */
  const askBoth = async (): Promise<Toy[]> => {
    const found = new Map<number, Toy>()
    while (found.size < 2) {
      const toys = await Promise.all(Array.from({ length: 16 }, () => ask()))
      for (const toy of toys) found.set(toy.number, toy)
    }
    return [...found.values()]
  }
  await put('/r/a/2', 'two')
  for (const { values, isShared } of await askBoth()) {
    t.same(values, ['one', 'two'], 'each is as fresh as the last write')
    t.ok(isShared, 'and has no values of its own')
  }
  const asked = async (path: string): Promise<unknown> => ask(path)
  t.same(await asked('/ask?a word'), { answer: 'the answer' })
  t.same(await asked('/ask?another'), { answer: 'overloaded: no such word' })
  const metrics = await pool.metrics()
  t.equal(metrics.length, 2)

  t.equal(pool.figures.segmentBytes, 3000)
  pool.dropTo('indexBytes', 0)
  pool.dropTo('segmentBytes', 1500)
  t.equal(pool.figures.segmentBytes, 1500, 'what was ordered counts as done')
  await pool.metrics()
  t.equal(pool.figures.segmentBytes, 1500, 'and was done')

  t.equal(pool.listening, 2)
  pool.passThrough(true)
  await t.rejects(ask('/die'), 'its connections are closed')
  while (pool.listening > 1) await new Promise(resolve => setTimeout(resolve, 10))
  await put('/r/a/3', 'three')
  t.same((await ask()).values, ['one', 'two', 'three'], 'the other one goes on')
  for (const { values, isPassing } of await askBoth()) {
    t.same(values, ['one', 'two', 'three'])
    t.ok(isPassing, 'the new one is told of the switch, too')
  }
  t.equal(dead.length, 1, 'what the dead one held is given back')
  t.match(errors, [/a worker has died/])
})

t.test('a thread that the system does not give is asked for again', async t => {
  const errors: string[] = []
  const mirrorSide = new MirrorSide({
    mirrors: new MirrorSet([]),
    clients: [],
    keyspaceOf: () => undefined,
    clock: systemClock,
  })
  let begun = 0
  const pool = await WorkerPool.start({
    count: 1,
    mirrorSide,
    port: await sharePort('127.0.0.1', 0),
    script: new URL('../support/mirror/toy-thread.js', import.meta.url),
    program: () => {
      if (++begun === 2) throw new Error('no memory')
    },
    clock: systemClock,
    random: systemRandom,
    logger: { ...silentLogger, error: message => void errors.push(message) },
    answer: () => Promise.resolve(),
    onDeath: () => {},
    problems: () => ({}),
  })
  t.teardown(() => pool.stop())
  await t.rejects(fetch(`http://127.0.0.1:${pool.port}/die`))
  while (begun < 3 || pool.listening < 1) await new Promise(resolve => setTimeout(resolve, 10))
  t.match(errors, [/a worker has died/, /a worker cannot start/])
})

t.test('threads do not listen where somebody else does', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  await t.rejects(sharePort('127.0.0.1', port), {
    code: 'invalid_request',
    message: new RegExp(`cannot listen on 127\\.0\\.0\\.1:${port}: listen EADDRINUSE`),
  })
})
