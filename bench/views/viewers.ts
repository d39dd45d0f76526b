/** A process of its own with many clients, each of which holds a stream open and reads what comes
 *  without looking at it. */

import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { answerOrders } from '../watch/child.ts'
import type { ViewersOrder, ViewersReport } from './orders.ts'

const sockets: TLSSocket[] = []
let bytes = 0
let ended = 0

answerOrders(follow)
process.send?.('ready')

async function follow(order: ViewersOrder): Promise<ViewersReport> {
  if (order.type === 'open') for (const path of order.paths) await open(order.port, path)
  if (order.type === 'close') {
    for (const socket of sockets.splice(0)) socket.removeAllListeners('close').destroy()
  }
  const report = { bytes, ended }
  bytes = 0
  return report
}

/** Opens a stream; its first bytes say that it has begun. */
async function open(port: number, path: string): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.on('error', () => ended++)
  socket.on('close', () => ended++)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  if (!first.toString('latin1').startsWith('HTTP/1.1 200')) {
    throw new Error(`${path} is answered with ${first.toString('latin1', 0, 500)}`)
  }
  socket.on('data', (piece: Buffer) => (bytes += piece.length))
  sockets.push(socket)
}
