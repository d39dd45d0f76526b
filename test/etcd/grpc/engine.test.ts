import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { clientContract } from '../../contract/client.ts'

t.test('the gRPC client on the engine over gRPC keeps the contract', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(async () => {
    await server.close()
    engine.close()
  })
  clientContract(t, () => new GrpcClient({ endpoints: [server.address] }))
})
