/** The recorded history, written into an empty store, becomes the same history. */

import t, { type Test } from 'tap'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { createRandom } from '../../lib/base/random.ts'
import { allKeys, type Key } from '../../lib/base/keys.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { historyBatches } from './load.ts'
import { HistoryWriter } from './replay.ts'

const etcd = await findEtcd('3.5')

/** The text of an entry as etcd knows it, leases aside: those were not recorded. */
function textOf({ key, createRevision, modRevision, version, value }: KeyValue): string {
  return [key, createRevision, modRevision, version, Buffer.from(value).toString('base64')].join(
    ' ',
  )
}

/** Everything there is after the last of the recorded batches. */
function recordedEntries(): string[] {
  const entries = new Map<Key, KeyValue>()
  for (const { changes } of historyBatches()) {
    for (const change of changes) {
      if (change.type === 'put') entries.set(change.entry.key, change.entry)
      else entries.delete(change.key)
    }
  }
  return [...entries.values()].map(textOf).sort()
}

async function writesTheSame(t: Test, client: Client): Promise<void> {
  const last = historyBatches().at(-1)?.revision ?? 0
  // Fails at the first revision that is another one.
  await new HistoryWriter(client).writeUpTo(last)
  const { header, entries } = await client.range({ range: allKeys })
  t.equal(header.revision, last)
  t.ok(last > 700, `${last} revisions`)
  t.strictSame(entries.map(textOf).sort(), recordedEntries())
}

t.test('the recorded history has the same revisions in the engine', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  t.teardown(() => engine.close())
  await writesTheSame(t, new EngineClient({ engine, network: new DirectNetwork(scheduler) }))
})

t.test('and in a real etcd', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const client = new GrpcClient({ endpoints })
  t.teardown(() => client.close())
  await writesTheSame(t, client)
})
