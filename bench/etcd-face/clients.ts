/** Eight clients of etcd's API in a process of their own: they list everything in pages, then watch
 *  everything, and take the time of each event. Started by etcd-face.ts, with which it talks by
 *  messages. */

import * as http2 from 'node:http2'
import { type Key, keyAfter, prefixEnd, prefixRange } from '../../lib/base/keys.ts'
import { MessageReader, messagePrefix } from '../../lib/door/listen/message-reader.ts'
import { rangeCodec, rangeResponseCodec } from '../../lib/etcd/proto/kv-messages.ts'
import { watchRequestCodec, watchResponseCodec } from '../../lib/etcd/proto/watch-messages.ts'
import { messageFromRange } from '../../lib/etcd/wire.ts'
import { revision } from '../../lib/base/revision.ts'

/** The order to the clients. */
export interface ClientsOrder {
  readonly address: string
  readonly clients: number
  readonly prefix: string
  readonly pageEntries: number
}

/** The findings of the clients, once all have listed and begun to watch, and since the last time,
 *  whenever they are asked. */
export type ClientsReport =
  | { readonly type: 'listed'; readonly entries: number }
  | { readonly type: 'watched'; readonly lagsMs: readonly number[] }

class BenchClient {
  lagsMs: number[] = []
  entries = 0
  #revision = 0
  readonly #session: http2.ClientHttp2Session
  readonly #order: ClientsOrder

  constructor(order: ClientsOrder) {
    this.#order = order
    this.#session = http2.connect(`http://${order.address}`, {
      settings: { initialWindowSize: 8 * 1024 * 1024 },
    })
    this.#session.once('connect', () => this.#session.setLocalWindowSize(8 * 1024 * 1024))
  }

  /** Pages of one revision, as kube-apiserver reads them. */
  async list(): Promise<void> {
    const end = prefixEnd(this.#order.prefix as Key)
    let start = this.#order.prefix as Key
    for (let more = true; more;) {
      const at = this.#revision === 0 ? undefined : revision(this.#revision)
      const request = { range: { start, end }, limit: this.#order.pageEntries, revision: at }
      const bytes = await this.#call(rangeCodec.encode(messageFromRange(request)))
      const page = rangeResponseCodec.decode(bytes)
      this.#revision ||= page.header?.revision ?? 0
      this.entries += page.entries.length
      const last = page.entries.at(-1)
      more = page.more && last !== undefined
      if (last !== undefined) start = keyAfter(last.key)
    }
  }

  watch(): void {
    const stream = this.#request('/etcdserverpb.Watch/Watch')
    const { start, end } = prefixRange(this.#order.prefix as Key)
    const create = watchRequestCodec.encode({
      request: {
        type: 'create',
        value: {
          key: start,
          rangeEnd: end ?? ('\0' as Key),
          startRevision: this.#revision + 1,
          progressNotify: true,
          filters: [],
          previous: true,
          watchId: 0n,
          fragment: false,
        },
      },
    })
    stream.write(Buffer.concat([messagePrefix(create.length), create]))
    const reader = new MessageReader(Infinity)
    stream.on('data', (chunk: Buffer) => {
      reader.push(chunk)
      for (let next = reader.next(); typeof next === 'object'; next = reader.next()) {
        const nowMs = performance.timeOrigin + performance.now()
        for (const { after } of watchResponseCodec.decode(next.bytes).events) {
          if (after === undefined) continue
          this.lagsMs.push(nowMs - Buffer.from(after.value).readDoubleBE(0))
        }
      }
    })
    stream.on('error', () => undefined)
  }

  #call(request: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#request('/etcdserverpb.KV/Range')
      const reader = new MessageReader(Infinity)
      stream.on('data', (chunk: Buffer) => reader.push(chunk))
      stream.on('error', reject)
      stream.on('end', () => {
        const message = reader.next()
        if (typeof message === 'object') resolve(message.bytes)
        else reject(new Error('a page was not answered'))
      })
      stream.end(Buffer.concat([messagePrefix(request.length), request]))
    })
  }

  #request(path: string): http2.ClientHttp2Stream {
    const headers = { 'content-type': 'application/grpc', te: 'trailers' }
    return this.#session.request({ ':method': 'POST', ':path': path, ...headers })
  }
}

function report(message: ClientsReport): void {
  process.send?.(message)
}

process.once('message', (order: ClientsOrder) => {
  const clients = Array.from({ length: order.clients }, () => new BenchClient(order))
  void Promise.all(clients.map(client => client.list())).then(() => {
    for (const client of clients) client.watch()
    process.on('message', () => {
      report({ type: 'watched', lagsMs: clients.flatMap(({ lagsMs }) => lagsMs) })
      for (const client of clients) client.lagsMs = []
    })
    report({ type: 'listed', entries: clients.reduce((sum, { entries }) => sum + entries, 0) })
  })
})
