/** A process of its own that attacks an etcd server. It is sent an order, and reports what
 *  became of it; then it keeps what it holds open until it is ended. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { bytesOf, type EtcdBody, pathOf } from './etcd-bodies.ts'

export interface EtcdFlood {
  readonly address: string
  /** With the certificate of alice. */
  readonly isSecure?: boolean
  readonly connections: number
  /** Number of streams on each connection. */
  readonly streams: number
  readonly body: EtcdBody
  /** Responses are read. */
  readonly reads: boolean
}

export interface FloodReport {
  /** Bytes of responses that have come. */
  readonly bytes: number
  /** Streams that have ended, by their status. */
  readonly ended: Readonly<Record<string, number>>
}

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)

function run({ address, isSecure, connections, streams, body, reads }: EtcdFlood): void {
  const bytes = bytesOf(body)
  const ended: Record<string, number> = {}
  let read = 0
  for (let i = 0; i < connections; i++) {
    const session =
      isSecure === true
        ? http2.connect(`https://${address.replace('127.0.0.1', 'localhost')}`, {
            ca: pem('ca.pem'),
            cert: pem('client.pem'),
            key: pem('client.key'),
            maxSessionMemory: 1024,
          })
        : http2.connect(`http://${address}`, { maxSessionMemory: 1024 })
    session.on('error', () => undefined)
    for (let j = 0; j < streams; j++) {
      const stream = session.request({
        ':method': 'POST',
        ':path': pathOf(body),
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      let status = 'none'
      const note = (headers: http2.IncomingHttpHeaders): void => {
        status = String(headers['grpc-status'] ?? status)
      }
      stream.on('response', note)
      stream.on('trailers', note)
      stream.on('error', () => undefined)
      stream.on('close', () => (ended[status] = (ended[status] ?? 0) + 1))
      if (reads) stream.on('data', (chunk: Buffer) => (read += chunk.length))
      else stream.pause()
      if (body.type === 'range') stream.end(bytes)
      else stream.write(bytes)
    }
  }
  setInterval(() => process.send?.({ bytes: read, ended } satisfies FloodReport), 50)
}

process.once('message', (order: EtcdFlood) => run(order))
process.once('disconnect', () => process.exit())
