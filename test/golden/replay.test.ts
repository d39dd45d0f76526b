import t from 'tap'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { startServed } from '../support/http/served.ts'
import { golden } from './load.ts'
import { readsOf, replayReads } from './replay.ts'
import { patient } from '../support/patience.ts'

/** Other parts of the server. */
const otherAreas = new Set(['write', 'auth'])

/** The recorded requests that are answered differently here, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-0010': 'the server that was recorded was built without its version',
  'pub-0209': 'computed by asking other processes how they are',
  'pub-1044': 'a user who may not do this, which is up to authorization',
  'pub-1077': 'paths of the server itself, which are others here',
  'pub-1113': 'a subresource, which needs an upstream',
  'pub-1114': 'a subresource, which needs an upstream',
  'pub-1141': 'a write, which needs an upstream',
  'pub-1288': 'a 429 while a cache starts, which ours had done',
}

/** Every so many reads are also answered over a real etcd, behind another Watchglass. */
const realEtcdShare = 4

const reads = readsOf(golden, otherAreas)

/** A revision that never comes is waited for: not as long as in earnest. */
const limits = { ...defaultLimits, readWaitMaxMs: patient(300) }
const address = '127.0.0.1:16443'

t.test('a kube-apiserver and we answer every recorded read with the same bytes', async t => {
  const table = await replayReads(t, await startServed(t, { address, limits }), {
    recording: golden,
    asked: reads,
    exceptions,
    version: '1.1',
  })
  t.ok(table.total('passed') > 1000, `${table.total('passed')} passed`)
  t.ok(table.total('excepted') < reads.length * 0.03, 'exceptions are below 3 %')
})

const etcd = await findEtcd('3.5')

t.test(
  'so we do over HTTP/2, with a real etcd behind another Watchglass',
  { skip: etcd.skip },
  async t => {
    const { endpoints } = await startEtcd(t, etcd)
    const door = await startTestReplica(t, endpoints)
    await door.ready()
    const client = new GrpcClient({ endpoints: [door.address] })
    const writing = new GrpcClient({ endpoints })
    const served = await startServed(t, { client, address, limits })
    t.teardown(() => Promise.all([client.close(), writing.close()]))
    const share = reads.filter((_, i) => i % realEtcdShare === 0)
    const table = await replayReads(
      t,
      { ...served, client: writing },
      { recording: golden, asked: share, exceptions, version: '2' },
    )
    t.ok(table.total('passed') > 250, `${table.total('passed')} passed`)
    t.ok(door.count('Range', 'mirror') > 50, 'the other one answers from its mirror')
  },
)
