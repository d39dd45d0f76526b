/** A separate process that copies bytes between clients and the upstream, and counts what the
 *  upstream sends: `relay.js PORT`. */

import { type AddressInfo, connect, createServer } from 'node:net'
import { answerOrders } from '../watch/child.ts'
import type { RelayReport } from './orders.ts'

const upstreamPort = Number(process.argv[2])
let bytes = 0

const server = createServer(client => {
  const upstream = connect(upstreamPort, '127.0.0.1')
  client.setNoDelay()
  upstream.setNoDelay()
  upstream.on('data', (piece: Buffer) => (bytes += piece.length))
  upstream.pipe(client)
  client.pipe(upstream)
  for (const socket of [client, upstream]) {
    socket.on('error', () => {})
    socket.on('close', () => (socket === client ? upstream : client).destroy())
  }
})

function report(): RelayReport {
  return { port: (server.address() as AddressInfo).port, bytes }
}

answerOrders(report)
server.listen(0, '127.0.0.1', () => process.send?.(report()))
