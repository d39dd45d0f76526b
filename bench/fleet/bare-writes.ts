/** A separate process with the least that can send events: a bare TLS server that writes each one
 *  to the next of its connections, and makes nothing. What it takes is Node's, TLS's and the
 *  kernel's. Arguments: events a second, and the bytes of one. */

import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { certificate } from '../list/certificate.ts'

const [perSecond = 0, bytes = 0] = process.argv.slice(2).map(Number)
const tickMs = 20
const event = Buffer.alloc(bytes, 'an event of so many bytes ')
const sockets: TLSSocket[] = []

const server = createServer(
  { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) },
  socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.splice(sockets.indexOf(socket), 1))
  },
)

let next = 0
setInterval(() => {
  for (let i = 0; i < (perSecond * tickMs) / 1000; i++) {
    sockets[next++ % sockets.length]?.write(event)
  }
}, tickMs)

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.((user + system) / 1_000_000)
})
process.on('disconnect', () => process.exit(0))
