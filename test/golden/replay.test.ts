import t, { type Test } from 'tap'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../lib/mirror/limits.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { type Served, startServed } from '../support/http/served.ts'
import { type Exchange, exchanges } from './load.ts'
import { HistoryWriter, replayExchange, Table } from './replay.ts'

/** Other parts of the server. */
const otherAreas = new Set(['write', 'auth'])

/** What is not answered as it was recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-0010': 'the server that was recorded was built without its version',
  'pub-0209': 'computed by asking other processes how they are',
  'pub-0891': 'a subresource, which needs an upstream',
  'pub-0952': 'a subresource, which needs an upstream',
  'pub-0953': 'a subresource, which needs an upstream',
  'pub-1029': 'a subresource, which needs an upstream',
  'pub-1043': 'a subresource, which needs an upstream',
  'pub-1044': 'a user who may not do this, which is up to authorization',
  'pub-1077': 'paths of the server itself, which are others here',
  'pub-1113': 'a subresource, which needs an upstream',
  'pub-1114': 'a subresource, which needs an upstream',
  'pub-1141': 'a write, which needs an upstream',
  'pub-1288': 'a 429 while a cache starts, which ours had done',
}

/** Every so many reads are also answered over a real etcd. */
const realEtcdShare = 4

/** The recorded reads in the order of the revisions at which they were made. */
const reads = exchanges()
  .filter(({ area }) => !otherAreas.has(area))
  .sort((a, b) => a.at_revision - b.at_revision || a.compact_revision - b.compact_revision)

/** Writes the history step by step, and asks what was asked at each. */
async function replay(
  t: Test,
  served: Served,
  asked: readonly Exchange[],
  version: '1.1' | '2',
): Promise<Table> {
  const writer = new HistoryWriter(served.client)
  const table = new Table()
  const failures: string[] = []
  for (const exchange of asked) {
    const { id, area, request, at_revision: revision } = exchange
    await writer.writeUpTo(revision)
    if (exceptions[id] !== undefined) {
      table.add(area, 'excepted')
      t.comment(`${id} ${request.method} ${request.path}: ${exceptions[id]}`)
      continue
    }
    const difference = await replayExchange(served, exchange, version)
    table.add(area, difference === undefined ? 'passed' : 'failed')
    if (difference !== undefined) {
      failures.push(`${id} ${request.method} ${request.path}: ${difference}`)
    }
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
  return table
}

/** A revision that never comes is waited for: not as long as in earnest. */
const limits = { ...defaultLimits, readWaitMaxMs: 500 }
const address = '127.0.0.1:16443'

t.test('a kube-apiserver and we answer every recorded read with the same bytes', async t => {
  const table = await replay(t, await startServed(t, { address, limits }), reads, '1.1')
  t.ok(table.total('passed') > 1000, `${table.total('passed')} passed`)
  t.ok(table.total('excepted') < reads.length * 0.03, 'exceptions are below 3 %')
})

const etcd = await findEtcd('3.5')

t.test('so we do over a real etcd and HTTP/2', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const [client, writing] = [new GrpcClient({ endpoints }), new GrpcClient({ endpoints })]
  const served = await startServed(t, { client, address, limits })
  t.teardown(() => Promise.all([client.close(), writing.close()]))
  const share = reads.filter((_, i) => i % realEtcdShare === 0)
  const table = await replay(t, { ...served, client: writing }, share, '2')
  t.ok(table.total('passed') > 250, `${table.total('passed')} passed`)
})
