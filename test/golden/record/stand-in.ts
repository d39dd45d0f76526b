/** Our service in the place of a kube-apiserver, for the test of the recorder: takes the flags that
 *  the recorder gives, serves from the same etcd, and makes the namespaces that a kube-apiserver
 *  makes at its start. It knows no users: everybody may do everything.
 *
 *  The program itself would also run controllers, which a kube-apiserver alone does not have: they
 *  write when they will, and a recorded write would then have changes of others in it. */

import { request } from 'node:https'
import { parseArgs } from 'node:util'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { serviceOptions } from '../../support/http/service-options.ts'

const { values } = parseArgs({
  strict: false,
  options: { 'etcd-servers': { type: 'string' }, 'secure-port': { type: 'string' } },
})
const port = Number(values['secure-port'])
const client = new GrpcClient({ endpoints: String(values['etcd-servers']).split(',') })
const service = await KubeService.start(
  serviceOptions({
    client,
    isWritable: true,
    listen: { protocol: 'https', host: '127.0.0.1', port },
    tls: { certFile: 'test/support/certs/server.pem', keyFile: 'test/support/certs/server.key' },
  }),
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void service
      .stop()
      .then(() => client.close())
      .then(() => process.exit(0))
  })
}
await service.ready
for (const name of ['kube-system', 'kube-public', 'kube-node-lease', 'default']) await create(name)

function create(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/api/v1/namespaces',
        headers: { 'Content-Type': 'application/json' },
        rejectUnauthorized: false,
      },
      response => {
        response.resume()
        response.on('end', resolve)
      },
    )
    sent.on('error', reject)
    sent.end(JSON.stringify({ metadata: { name } }))
  })
}
