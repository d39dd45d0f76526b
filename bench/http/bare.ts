/** A process with a bare server, written as anybody would write it first, with nothing of ours:
 *  over HTTP/2 the stream of node:http2 is answered, over HTTP/1.1 the response of node:https.
 *  Its argument is the version. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import { certificate } from '../list/certificate.ts'
import { copyBodies, type CopyOrder } from '../list/copied-bodies.ts'

const pieces = new Map<string, readonly Buffer[]>()
const bodies = new Map<string, Buffer>()
const nothing = Buffer.alloc(0)
const tls = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }

function overHttp2(): http2.Http2SecureServer {
  const server = http2.createSecureServer(tls)
  server.on('stream', (stream, headers) => {
    const body = bodies.get(headers[':path'] ?? '') ?? nothing
    stream.respond({
      ':status': 200,
      'content-type': 'application/json',
      'content-length': body.length,
    })
    stream.end(body)
  })
  return server
}

function overHttp1(): https.Server {
  return https.createServer(tls, (request, response) => {
    const body = bodies.get(request.url ?? '') ?? nothing
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
}

async function copy(order: CopyOrder): Promise<void> {
  const report = await copyBodies(pieces, order)
  bodies.clear()
  for (const [path, each] of pieces) bodies.set(path, Buffer.concat(each))
  process.send?.(report)
}

process.on('message', (order: CopyOrder) => void copy(order))
process.on('disconnect', () => process.exit(0))
const server = process.argv[2] === '2' ? overHttp2() : overHttp1()
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
