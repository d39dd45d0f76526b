/** A separate process that only copies bytes between two TLS connections: it knows nothing of HTTP,
 *  decides nothing and reads none of them. No proxy on Node can do less than this. */

import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import { certificate } from '../list/certificate.ts'

function start(upstreamPort: number): void {
  const { cert, key } = certificate
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, client => {
    const ca = readFileSync('test/support/certs/ca.pem')
    const upstream = connect({ host: '127.0.0.1', port: upstreamPort, ca })
    client.setNoDelay()
    upstream.setNoDelay()
    client.pipe(upstream)
    upstream.pipe(client)
    for (const socket of [client, upstream]) {
      socket.on('error', () => {})
      socket.on('close', () => (socket === client ? upstream : client).destroy())
    }
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

process.on('message', start)
process.on('disconnect', () => process.exit(0))
