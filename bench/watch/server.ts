/** A separate process with the server that is measured: a service in front of an etcd, with TLS:
 *  `server.js ENDPOINT`. */

import { silentLogger } from '../../test/support/silent-logger.ts'
import { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { certificate } from '../list/certificate.ts'
import { answerOrders } from './child.ts'
import { usage } from './usage.ts'
import type { UsageOrder } from './orders.ts'

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
answerOrders(({ isSettled }: UsageOrder) => usage(isSettled))
process.send?.(service.port)
