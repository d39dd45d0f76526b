/** A separate process with the minimal server on Node: it answers a path with bytes from memory, in
 *  the same pieces as the measured server, with TLS and back-pressure. For clients that accept gzip
 *  it compresses each response again. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createGzip } from 'node:zlib'
import { certificate } from './certificate.ts'
import { copyBodies, type CopyOrder } from './copied-bodies.ts'

/** Answer that path with so many bytes: few that are repeated, because a list of gigabytes would
 *  not fit beside the measured server. */
export interface RepeatOrder {
  readonly path: string
  readonly bytes: number
  readonly pieceBytes: number
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

/** More than the processor's caches hold, as the real ones are. */
const poolBytes = 128 * 1024 * 1024

function repeat({ path, bytes, pieceBytes }: RepeatOrder): void {
  const pool = Buffer.alloc(Math.min(bytes, poolBytes), 'so many bytes that are the same ')
  const pieces: Buffer[] = []
  for (let left = bytes, at = 0; left > 0; at = (at + pieceBytes) % pool.length) {
    const piece = pool.subarray(at, at + Math.min(left, pieceBytes))
    pieces.push(piece)
    left -= piece.length
  }
  bodies.set(path, pieces)
}

/** `cpu` asks for the time on the processor. */
process.on('message', (order: CopyOrder | RepeatOrder | 'cpu') => {
  if (order === 'cpu') {
    const { user, system } = process.cpuUsage()
    process.send?.((user + system) / 1e6)
  } else if ('bytes' in order) {
    repeat(order)
    process.send?.('ready')
  } else void copyBodies(bodies, order).then(report => process.send?.(report))
})
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
