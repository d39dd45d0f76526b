/** Workers that have gone wrong, and send what cannot be: the main thread ends such a thread,
 *  and goes on. */

import t from 'tap'
import type { Client } from '../../lib/etcd/client.ts'
import { MirrorSet } from '../../lib/cache/mirror/mirror-set.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { MirrorSide } from '../../lib/workers/mirror/mirror-side.ts'
import { PoolWorker } from '../../lib/workers/process/pool-worker.ts'
import { silentLogger } from '../support/silent-logger.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'

const script = new URL('../support/mirror/forging-thread.js', import.meta.url)
const { client } = createTestEngine(t)

/** Messages without a meaning, of each type that there is. */
const forged: readonly unknown[] = [
  null,
  undefined,
  7,
  'ready',
  [],
  {},
  { type: 'nothing' },
  { type: 'log' },
  { type: 'log', level: 'constructor', message: {}, fields: null },
  { type: 'figures' },
  { type: 'figures', figures: { segmentBytes: 'x', indexBytes: {} }, drops: NaN },
  { type: 'metrics', id: {}, text: null },
  { type: 'work', news: { type: 'taken', key: null } },
  { type: 'probe', mirror: 99, id: -1 },
  { type: 'probe', mirror: '__proto__', id: 1 },
  { type: 'need', feed: 'x', revision: 'y' },
  { type: 'want' },
  { type: 'want', keyspace: {} },
  { type: 'refresh' },
  { type: 'refresh', keyspaces: [1, null, '/none/'] },
  { type: 'read', id: 1 },
  { type: 'read', id: 2, keyspace: '/none/', range: null },
  { type: 'next-page', id: 2 },
  { type: 'next-page', id: 'x' },
  { type: 'end-read', id: null },
  { type: 'call', id: 1 },
  { type: 'call', id: 2, client: 0 },
  { type: 'call', id: 3, client: 0, call: { method: 'range', request: {} } },
  { type: 'call', id: 4, client: 0, call: { method: 'txn', request: null } },
  { type: 'call', id: 5, client: 99, call: { method: 'range' } },
  { type: 'abandon-call', id: {} },
  { type: 'failed' },
]

/** The reason for which a thread with these messages ends, or that it goes on. */
function outcomeOf(messages: readonly unknown[]): Promise<string> {
  const mirrorSide = new MirrorSide({
    mirrors: new MirrorSet([]),
    clients: [client as Client],
    keyspaceOf: () => undefined,
    clock: systemClock,
  })
  return new Promise(resolve => {
    const thread = new PoolWorker(1, 0, {
      count: 1,
      mirrorSide,
      script,
      program: () => messages,
      clock: systemClock,
      logger: silentLogger,
      onMessage({ type }) {
        if (type !== 'ready') return
        // What it asked may be answered after a while; if it is to end, that is under way.
        setImmediate(() => setImmediate(() => thread.terminate('it goes on')))
      },
      onEnd: resolve,
    })
  })
}

t.test('a thread that sends what cannot be is ended, and the process goes on', async t => {
  const outcomes = new Map<string, number>()
  for (const message of forged) {
    const outcome = await outcomeOf([message])
    t.match(
      outcome,
      /^it goes on$|^it has sent a message that cannot be: ./,
      JSON.stringify(message),
    )
    const kind = outcome === 'it goes on' ? outcome : 'ended'
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
  }
  t.ok((outcomes.get('ended') ?? 0) > 0, 'some end it')
  t.ok((outcomes.get('it goes on') ?? 0) > 0, 'some say nothing')
})

t.test('a thread that floods with questions without a meaning holds nobody', async t => {
  const flood = Array.from({ length: 5000 }, (_, id) => ({ type: 'call', id, client: id % 3 }))
  t.equal(await outcomeOf(flood), 'it goes on')
})
