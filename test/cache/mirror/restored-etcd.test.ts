/** A real etcd that is restored from a backup while the mirror cannot reach it, and written to
 *  until its revision and its term have passed what the mirror knows. */

import t, { type Test } from 'tap'
import { allKeys, keyFromText, prefixRange, textFromKey } from '../../../lib/base/keys.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { compactRevisionKey } from '../../../lib/cache/mirror/feed/compaction.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { Mirror } from '../../../lib/cache/mirror/mirror.ts'
import { systemClock, systemRandom } from '../../../lib/cache/ops/system.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { startTcpProxy } from '../../support/http/tcp-proxy.ts'
import {
  countingMetrics,
  entriesOf,
  historyBounds,
  nameOf,
  RecordingSink,
} from '../../support/mirror/mirror-builders.ts'
import { patient } from '../../support/patience.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const etcd35 = await findEtcd('3.5')

async function put(client: Client, key: string, value: string): Promise<void> {
  const operation = { type: 'put', key: keyFromText(key), value: Buffer.from(value) } as const
  await client.txn({ compares: [], success: [operation], failure: [] })
}

function startMirror(
  t: Test,
  endpoint: string,
): { mirror: Mirror; sink: RecordingSink; counts: Map<string, number> } {
  const client = new GrpcClient({ endpoints: [endpoint] })
  const { metrics, counts } = countingMetrics()
  const sink = new RecordingSink()
  const mirror = new Mirror({
    client,
    clock: systemClock,
    random: systemRandom,
    limits: { ...defaultLimits, readWaitMaxMs: patient(20_000) },
    logger: silentLogger,
    metrics,
    sink,
    ranges: [prefixRange(keyFromText('/r/'))],
    keyspaceOf: nameOf,
    compactRevisionKey,
  })
  mirror.add({ name: 'a', range: prefixRange(keyFromText('/r/a/')), history: historyBounds })
  mirror.start()
  t.teardown(async () => {
    await mirror.stop()
    await client.close()
  })
  return { mirror, sink, counts }
}

async function consistentEntries(mirror: Mirror): Promise<string[]> {
  const outcome = await mirror.read('a', {
    freshness: { type: 'consistent' },
    elsewhere: 'nowhere',
  })
  if (outcome.from !== 'mirror') throw new Error('the read went elsewhere')
  return entriesOf(outcome.snapshot)
}

t.test(
  'a restored etcd that has passed the known revision and term is a new epoch',
  { skip: etcd35.skip },
  async t => {
    const cluster = await startEtcd(t, etcd35)
    const [member] = cluster.members
    const writer = new GrpcClient({ endpoints: cluster.endpoints })
    t.teardown(() => writer.close())
    let isReachable = true
    const proxy = await startTcpProxy(t, () => (isReachable ? cluster.endpoints[0] : undefined))
    for (let i = 0; i < 20; i++) await put(writer, `/r/a/${i}`, 'before')
    await member!.kill()
    await member!.backUp()
    await member!.restart()

    const { mirror, counts } = startMirror(t, proxy.endpoint)
    await consistentEntries(mirror)
    for (let i = 0; i < 20; i++) await put(writer, `/r/a/${i}`, 'lost')
    t.ok((await consistentEntries(mirror)).every(entry => entry.endsWith('=lost')))
    const { witnessed } = mirror

    isReachable = false
    proxy.cut()
    await member!.kill()
    await member!.restore()
    await member!.restart()
    for (let i = 0; i < 10; i++) await put(writer, `/r/a/${i}`, 'after')
    for (let i = 0; i < 30; i++) await put(writer, `/elsewhere`, `${i}`)
    const whole = await writer.range({ range: allKeys })
    t.ok(whole.header.revision > witnessed, 'the revision has passed')
    isReachable = true

    const entries = await consistentEntries(mirror)
    t.equal(entries.filter(entry => entry.endsWith('=after')).length, 10)
    t.equal(entries.filter(entry => entry.endsWith('=before')).length, 10)
    const inEtcd = whole.entries
      .filter(({ key }) => key.startsWith('/r/'))
      .map(({ key, value }) => `${textFromKey(key)}=${Buffer.from(value).toString()}`)
    t.same(entries, inEtcd)
    t.equal(counts.get('newEpoch'), 1)
  },
)

t.test('an etcd that was started again is the same', { skip: etcd35.skip }, async t => {
  const cluster = await startEtcd(t, etcd35)
  const writer = new GrpcClient({ endpoints: cluster.endpoints })
  t.teardown(() => writer.close())
  const { mirror, sink, counts } = startMirror(t, cluster.endpoints[0]!)
  for (let i = 0; i < 10; i++) await put(writer, `/r/a/${i}`, 'x')
  await consistentEntries(mirror)
  await cluster.members[0]!.kill()
  await cluster.members[0]!.restart()
  await put(writer, '/r/a/0', 'y')
  t.ok((await consistentEntries(mirror)).includes('/r/a/0=y'))
  t.notOk(counts.get('newEpoch'))
  t.notOk(sink.told.some(told => told.startsWith('reset')))
})
