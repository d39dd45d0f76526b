/** A separate process that stands in for a kube-apiserver: our own server with its write side, over
 *  an etcd in the same process that others can connect to. */

import { createRandom } from '../../lib/base/random.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { serviceOptions } from '../../test/support/http/service-options.ts'
import { certificate } from '../list/certificate.ts'
import type { StandInReport } from './orders.ts'

const scheduler = createDirectScheduler()
const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const service = await KubeService.start(
  serviceOptions({
    client,
    isWritable: true,
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: { certFile: certificate.cert, keyFile: certificate.key },
  }),
)
await service.ready
process.on('disconnect', () => process.exit(0))
const report: StandInReport = {
  url: `https://127.0.0.1:${service.port}`,
  etcd: `http://${etcd.address}`,
}
process.send?.(report)
