/** A process of its own that attacks a door of etcd's API. It is sent an order, and reports what
 *  became of it; then it keeps what it holds open until it is ended. */

import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { keyFromText } from '../../../lib/base/keys.ts'
import { rangeCodec } from '../../../lib/etcd/proto/kv-messages.ts'
import {
  type WatchCreateMessage,
  watchRequestCodec,
} from '../../../lib/etcd/proto/watch-messages.ts'
import { framed } from '../etcd/bare-grpc.ts'

export interface DoorFlood {
  readonly address: string
  /** With the certificate of alice. */
  readonly isSecure?: boolean
  readonly connections: number
  /** Number of streams on each connection. */
  readonly streams: number
  readonly body: DoorBody
  /** Responses are read. */
  readonly reads: boolean
}

export type DoorBody =
  | {
      readonly type: 'creates'
      readonly count: number
      readonly startRevision: number
      /** So many requests for progress after them. */
      readonly progress?: number
    }
  | {
      /** Messages of which so many bytes come, and not the last ones. */
      readonly type: 'unfinished'
      readonly path: string
      readonly bytes: number
    }
  | { readonly type: 'range'; readonly key: string; readonly end: string }

export interface FloodReport {
  /** Bytes of responses that have come. */
  readonly bytes: number
  /** Streams that have ended, by their status. */
  readonly ended: Readonly<Record<string, number>>
}

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)

function pathOf(body: DoorBody): string {
  if (body.type === 'unfinished') return body.path
  return body.type === 'creates' ? '/etcdserverpb.Watch/Watch' : '/etcdserverpb.KV/Range'
}

function bytesOf(body: DoorBody): Buffer {
  switch (body.type) {
    case 'creates': {
      const create = framed(
        watchRequestCodec.encode({
          request: { type: 'create', value: { ...plain, startRevision: body.startRevision } },
        }),
      )
      const progress = framed(
        watchRequestCodec.encode({ request: { type: 'progress', value: {} } }),
      )
      return Buffer.concat([
        ...Array.from({ length: body.count }, () => create),
        ...Array.from({ length: body.progress ?? 0 }, () => progress),
      ])
    }
    case 'unfinished': {
      const bytes = framed(Buffer.alloc(body.bytes))
      bytes.writeUInt32BE(body.bytes + 1, 1)
      return bytes
    }
    case 'range': {
      const [key, rangeEnd] = [keyFromText(body.key), keyFromText(body.end)]
      return framed(rangeCodec.encode({ ...rangeCodec.decode(Buffer.alloc(0)), key, rangeEnd }))
    }
  }
}

const plain: WatchCreateMessage = {
  key: keyFromText('/a'),
  rangeEnd: keyFromText(''),
  startRevision: 0,
  progressNotify: false,
  filters: [],
  previous: false,
  watchId: 0n,
  fragment: false,
}

function run({ address, isSecure, connections, streams, body, reads }: DoorFlood): void {
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

process.once('message', (order: DoorFlood) => run(order))
process.once('disconnect', () => process.exit())
