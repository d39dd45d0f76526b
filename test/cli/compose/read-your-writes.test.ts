/** Who writes through the proxy sees the write at once, on whatever replica: 16 clients write
 *  through two replicas on one real etcd, and each write is followed by a consistent list and a get
 *  on a replica that chance picks. No read is told to wait for anything: that etcd's revision is
 *  asked for after a read has come is all that it takes (lib/cache/mirror/reads/freshness.ts).
 *
 *  READ_YOUR_WRITES=5000 makes as many writes; the test run makes a few. On a busy machine some
 *  reads pass: then there are more writes, until as many reads have come from a mirror. */

import t from 'tap'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { ask } from '../../support/http/served.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { answeredHere, configMap, created, startFront } from '../../support/upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../../support/upstream/upstream.ts'

const writes = Number(process.env['READ_YOUR_WRITES'] ?? '192')
const clients = 16

const etcd = await findEtcd('3.5')

t.test('a write is seen by the next read on any replica', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const connect = (): GrpcClient => {
    const client = new GrpcClient({ endpoints })
    t.teardown(() => client.close())
    return client
  }
  const upstream = await TestUpstream.start({ client: connect() })
  t.teardown(() => upstream.stop())
  await upstreamReady(upstream)
  await created(upstream.port, '/api/v1/namespaces/first/configmaps', configMap('a', '1'))
  const replicas = await Promise.all([1, 2].map(() => startFront(connect(), upstream)))
  for (const service of replicas) {
    t.teardown(() => service.stop())
    await answeredHere({ service }, '', 'v1', 'configmaps')
  }
  const misses: string[] = []
  let fromMirror = 0
  // A replica may refuse for a moment on a busy machine, and says so; clients ask again.
  const patientAsk: typeof ask = async (port, request) => {
    let answer = await ask(port, request)
    while ([429, 503].includes(answer.status)) answer = await ask(port, request)
    return answer
  }
  const read = async (path: string, wanted: RegExp, port: number): Promise<void> => {
    const answer = await patientAsk(port, { path })
    if (String(answer.headers['x-watchglass']).startsWith('mirror')) fromMirror++
    if (!wanted.test(answer.body.toString())) misses.push(`${path} ${answer.status}`)
  }
  const client = async (id: number): Promise<void> => {
    const random = createRandom(id)
    const anyPort = (): number => replicas[randomInt(random, 0, replicas.length - 1)]!.port
    const path = `/api/v1/namespaces/client-${id}/configmaps`
    for (let i = 0; i < writes / clients || fromMirror < 2 * writes; i++) {
      const value = `value-${id}-${i}`
      const isNew = i % 4 !== 3
      // Three of four writes create; the fourth changes what was created before.
      const name = isNew ? `m${i}` : `m${i - 1}`
      const headers = {
        'content-type': isNew ? 'application/json' : 'application/merge-patch+json',
      }
      const sent = await ask(anyPort(), {
        method: isNew ? 'POST' : 'PATCH',
        path: isNew ? path : `${path}/${name}`,
        headers,
        body: JSON.stringify(isNew ? configMap(name, value) : { data: { value } }),
      })
      if (sent.status > 201) throw new Error(`${name}: ${sent.status} ${sent.body.toString()}`)
      const wanted = new RegExp(`"value":"${value}"`)
      await read(path, wanted, anyPort())
      await read(`${path}/${name}`, wanted, anyPort())
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, id) => client(id)))
  t.strictSame(misses, [])
})
