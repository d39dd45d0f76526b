/** A separate process with the minimal server on Node: it answers a path with bytes from memory, in the same pieces as the measured server,
 *  with TLS and back-pressure. For clients that accept gzip it compresses each response again. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createGzip } from 'node:zlib'
import { certificate } from './certificate.ts'
import { Http1Client, type RequestHeaders } from './http1-client.ts'

/** What to answer from now on: what that server answers now. */
export interface CopyOrder {
  readonly port: number
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
}

/** The bytes of all bodies, and how many pieces they have; and the time on the processor when the parent asks `cpu`. */
export interface CopyReport {
  readonly bytes: number
  readonly pieces: number
}

const bodies = new Map<string, readonly Buffer[]>()

const server = http2.createSecureServer({
  allowHTTP1: true,
  cert: readFileSync(certificate.cert),
  key: readFileSync(certificate.key),
  maxSessionMemory: 1024,
  settings: { initialWindowSize: 1024 * 1024 },
})
server.on('session', session => session.setLocalWindowSize(16 * 1024 * 1024))
server.on('request', (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
  const pieces = bodies.get(request.url) ?? []
  const headers = { 'content-type': 'application/json' }
  if (request.headers['accept-encoding'] === 'gzip') {
    response.writeHead(200, { ...headers, 'content-encoding': 'gzip' })
    const gzip = createGzip({ level: 1, chunkSize: 64 * 1024 })
    gzip.pipe(response)
    write(pieces, gzip)
  } else if (pieces.length === 1) {
    const body = pieces[0]!
    response.writeHead(200, { ...headers, 'content-length': body.length })
    response.end(body)
  } else {
    response.writeHead(200, headers)
    write(pieces, response)
  }
})

function write(pieces: readonly Buffer[], to: NodeJS.WritableStream): void {
  let next = 0
  const go = (): void => {
    while (next < pieces.length) {
      if (!to.write(pieces[next++]!)) {
        to.once('drain', go)
        return
      }
    }
    to.end()
  }
  go()
}

async function copy({ port, paths, headers }: CopyOrder): Promise<CopyReport> {
  bodies.clear()
  const client = await Http1Client.connect(port)
  const report = { bytes: 0, pieces: 0 }
  for (const path of new Set(paths)) {
    const { status, bytes, pieces } = await client.get(path, headers, true)
    if (status !== 200) throw new Error(`${path} is answered with ${status}`)
    bodies.set(path, pieces)
    report.bytes += bytes
    report.pieces += pieces.length
  }
  client.close()
  return report
}

process.on('message', (order: CopyOrder | 'cpu') => {
  if (order === 'cpu') {
    const { user, system } = process.cpuUsage()
    process.send?.((user + system) / 1e6)
  } else void copy(order).then(report => process.send?.(report))
})
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
