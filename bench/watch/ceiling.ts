/** A separate process with the minimal server on Node: it writes frames to all clients, one write
 *  for each, with TLS and back-pressure. The frames are those of the measured server, with their
 *  own stamps; everything else is Node's default, including the cipher, which is slower than
 *  ours. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { certificate } from '../list/certificate.ts'
import { Http1Client } from '../list/http1-client.ts'
import { answerOrders } from './child.ts'
import { atRate } from './at-rate.ts'
import { usage } from './usage.ts'
import {
  type ChangeOrder,
  type ChangeReport,
  type CopyOrder,
  type CopyReport,
  type FloodOrder,
  nowMicroseconds,
  type PourOrder,
  stampMark,
  stampOf,
  type UsageOrder,
} from './orders.ts'

/** The responses of both protocols have it. */
type Answering = http2.Http2ServerResponse & { flushHeaders(): void }

const responses = new Set<Answering>()
let pieces: readonly Buffer[] = []
let template: Buffer = Buffer.alloc(0)

const server = http2.createSecureServer({
  allowHTTP1: true,
  cert: readFileSync(certificate.cert),
  key: readFileSync(certificate.key),
  maxSessionMemory: 1024,
  settings: { initialWindowSize: 1024 * 1024, maxConcurrentStreams: 2_000 },
})
server.on('session', session => session.setLocalWindowSize(16 * 1024 * 1024))
server.on('request', (request: http2.Http2ServerRequest, response: Answering) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  if (request.url === '/copy') {
    writePieces(response)
    return
  }
  response.flushHeaders()
  responses.add(response)
  response.on('close', () => responses.delete(response))
})

function writePieces(response: Answering): void {
  let next = 0
  const go = (): void => {
    while (next < pieces.length) {
      if (!response.write(pieces[next++]!)) {
        response.once('drain', go)
        return
      }
    }
  }
  go()
}

function frame(): Buffer {
  const copy = Buffer.from(template)
  copy.write(stampOf(nowMicroseconds()), copy.indexOf(stampMark) + stampMark.length, 'latin1')
  return copy
}

async function change({ perSecond, ms, toldTo }: ChangeOrder): Promise<ChangeReport> {
  const each = [...responses]
  const changes = await atRate(perSecond, ms, index => {
    const bytes = frame()
    if (toldTo === 'one') each[index % each.length]?.write(bytes)
    else for (const response of each) response.write(bytes)
  })
  return { changes }
}

/** As many frames as all take: the next is made when everybody has room. */
async function flood({ ms }: FloodOrder): Promise<ChangeReport> {
  const endMs = performance.now() + ms
  let changes = 0
  while (performance.now() < endMs) {
    const bytes = frame()
    const drains: Promise<void>[] = []
    for (const response of responses) {
      if (response.write(bytes)) continue
      drains.push(new Promise(resolve => response.once('drain', resolve)))
    }
    changes++
    if (drains.length > 0) await Promise.all(drains)
    else if (changes % 8 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  return { changes }
}

/** One write for each frame and watcher, as fast as each takes them. */
async function pour({ frames }: PourOrder): Promise<void> {
  const each = framesOf(Buffer.concat(pieces)).slice(0, frames)
  const all = [...responses].map(async response => {
    for (const [i, bytes] of each.entries()) {
      const isFull = !response.write(bytes)
      if (isFull) await new Promise<void>(resolve => response.once('drain', resolve))
      // Others have their turn, as they have when a buffer is full.
      else if (i % 64 === 0) await new Promise(resolve => setImmediate(resolve))
    }
  })
  await Promise.all(all)
}

function framesOf(all: Buffer): Buffer[] {
  const frames: Buffer[] = []
  for (let from = 0; from < all.length;) {
    const end = all.indexOf(0x0a, from) + 1
    if (end === 0) break
    frames.push(all.subarray(from, end))
    from = end
  }
  return frames
}

/** The watch ends by itself, a second after all was sent. */
async function copy({ port, path }: CopyOrder): Promise<CopyReport> {
  const client = await Http1Client.connect(port)
  const { status, pieces: copied } = await client.get(path, {}, true)
  client.close()
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  pieces = copied
  const all = Buffer.concat(copied)
  template = all.subarray(0, all.indexOf(0x0a) + 1)
  return { bytes: all.length, frameBytes: template.length }
}

answerOrders((order: ChangeOrder | FloodOrder | CopyOrder | PourOrder | UsageOrder) => {
  switch (order.type) {
    case 'change':
      return change(order)
    case 'flood':
      return flood(order)
    case 'copy':
      return copy(order)
    case 'pour':
      return pour(order)
    case 'usage':
      return usage(order.isSettled)
  }
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
