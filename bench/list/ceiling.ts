/** A process of its own with the least that a Node server can do: it writes as many bytes in as many pieces as the path says,
 *  `/PIECES/BYTES`, from memory, with TLS and back-pressure. What we measure is held against this. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'

const certs = 'test/support/certs'
const server = http2.createSecureServer({
  allowHTTP1: true,
  cert: readFileSync(`${certs}/server.pem`),
  key: readFileSync(`${certs}/server.key`),
  settings: { initialWindowSize: 1024 * 1024 },
})
server.on('session', session => session.setLocalWindowSize(16 * 1024 * 1024))
server.on('request', (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
  const [, pieces = '1', bytes = '0'] = request.url.split('/')
  const piece = Buffer.alloc(Number(bytes), 'x')
  response.writeHead(200, { 'content-type': 'application/json' })
  let left = Number(pieces)
  const write = (): void => {
    while (left > 1) {
      left--
      if (!response.write(piece)) {
        response.once('drain', write)
        return
      }
    }
    response.end(piece)
  }
  write()
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
