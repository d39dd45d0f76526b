/** A process of its own with the server that is measured, which tells where its processor's time
 *  goes: `server.js ENDPOINT`. */

import { Session } from 'node:inspector/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { silentLogger } from '../../test/support/silent-logger.ts'
import { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { certificate } from '../list/certificate.ts'
import { answerOrders } from '../watch/child.ts'
import type { UsageOrder } from '../watch/orders.ts'
import { usage } from '../watch/usage.ts'
import type { ProfileOrder, ProfileReport } from './orders.ts'
import { timesOf } from './stages.ts'

// As `serve` does.
giveCollectorRoom()
const service = await KubeService.start({
  etcd: { client: new GrpcClient({ endpoints: [process.argv[2] ?? ''] }), prefix: '/registry' },
  listening: {
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: { certFile: certificate.cert, keyFile: certificate.key },
  },
  logger: silentLogger,
})
await service.ready

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 500 })
const delays = monitorEventLoopDelay({ resolution: 1 })

async function profile({ isOn }: ProfileOrder): Promise<ProfileReport> {
  if (isOn) {
    delays.reset()
    delays.enable()
    await session.post('Profiler.start')
    return { stages: new Map(), turnMaxMs: 0 }
  }
  const { profile: taken } = await session.post('Profiler.stop')
  delays.disable()
  return { stages: timesOf(taken), turnMaxMs: delays.max / 1e6 }
}

answerOrders((order: UsageOrder | ProfileOrder) =>
  order.type === 'profile' ? profile(order) : usage(order.isSettled),
)
process.send?.(service.port)
