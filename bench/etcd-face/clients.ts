/** Eight clients of etcd's API in a process of their own: they list everything in pages and in
 *  parts, then watch everything, and take the time of each event. Started by etcd-face.ts, with
 *  which it talks by messages. */

import * as http2 from 'node:http2'
import { type Key, keyAfter, prefixEnd, prefixRange } from '../../lib/base/keys.ts'
import { MessageReader, messagePrefix } from '../../lib/etcd/http2/message-reader.ts'
import { keyValueCodec, leaveInMessage } from '../../lib/etcd/proto/key-value.ts'
import {
  createRangePartCodec,
  rangeCodec,
  rangeResponseCodec,
} from '../../lib/etcd/proto/kv-messages.ts'
import { watchRequestCodec, watchResponseCodec } from '../../lib/etcd/proto/watch-messages.ts'
import { messageFromRange } from '../../lib/etcd/wire.ts'
import { revision } from '../../lib/base/revision.ts'

/** Form of a list: pages of one revision, as kube-apiserver reads them; or parts of one answer
 *  (`RangeStream`), as Kubernetes 1.37 reads where a server has them, and pages where not. */
export type ListForm = 'pages' | 'parts'

/** The first word to the clients: whom they ask. */
export interface ClientsOrder {
  readonly address: string
  readonly clients: number
  readonly prefix: string
  readonly pageEntries: number
}

/** Tasks of the clients after that. */
export type ClientsTask = ListForm | 'watch' | 'report'

/** The findings of the clients: what all have listed, and what they were told since the last
 *  time. */
export type ClientsReport =
  | { readonly type: 'listed'; readonly entries: number; readonly form: ListForm }
  | { readonly type: 'watching' }
  | { readonly type: 'watched'; readonly lagsMs: readonly number[] }

const rangePartCodec = createRangePartCodec(keyValueCodec(leaveInMessage))

/** A status of gRPC: the server does not have the call. */
const unimplemented = '12'

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

  /** Lists everything; says in which form. */
  async list(form: ListForm): Promise<ListForm> {
    this.entries = 0
    this.#revision = 0
    if (form === 'parts' && (await this.#listParts())) return 'parts'
    await this.#listPages()
    return 'pages'
  }

  async #listPages(): Promise<void> {
    const end = prefixEnd(this.#order.prefix as Key)
    let start = this.#order.prefix as Key
    for (let more = true; more;) {
      const at = this.#revision === 0 ? undefined : revision(this.#revision)
      const request = { range: { start, end }, limit: this.#order.pageEntries, revision: at }
      const pages: ReturnType<typeof rangeResponseCodec.decode>[] = []
      const bytes = rangeCodec.encode(messageFromRange(request))
      await this.#call('Range', bytes, message => pages.push(rangeResponseCodec.decode(message)))
      const [page] = pages
      if (page === undefined) throw new Error('a page was not answered')
      this.#revision ||= page.header?.revision ?? 0
      this.entries += page.entries.length
      const last = page.entries.at(-1)
      more = page.more && last !== undefined
      if (last !== undefined) start = keyAfter(last.key)
    }
  }

  /** False if the server has no parts. */
  async #listParts(): Promise<boolean> {
    const range = prefixRange(this.#order.prefix as Key)
    const bytes = rangeCodec.encode(messageFromRange({ range }))
    const status = await this.#call('RangeStream', bytes, message => {
      const { part } = rangePartCodec.decode(message)
      this.#revision ||= part?.header?.revision ?? 0
      this.entries += part?.entries.length ?? 0
    })
    return status !== unimplemented
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

  /** Makes a call, and hands over each message of its answer; the status of gRPC. */
  #call(method: string, request: Buffer, take: (message: Buffer) => void): Promise<string> {
    return new Promise((resolve, reject) => {
      const stream = this.#request(`/etcdserverpb.KV/${method}`)
      const reader = new MessageReader(Infinity)
      let status: string | undefined
      const note = (headers: http2.IncomingHttpHeaders): void => {
        status = (headers['grpc-status'] as string | undefined) ?? status
      }
      // What ends at once has its status in the first headers.
      stream.on('response', note)
      stream.on('trailers', note)
      stream.on('data', (chunk: Buffer) => {
        reader.push(chunk)
        for (let next = reader.next(); typeof next === 'object'; next = reader.next()) {
          take(next.bytes)
        }
      })
      stream.on('error', reject)
      stream.on('end', () => {
        if (status === '0' || status === unimplemented) resolve(status)
        else reject(new Error(`${method} ended with status ${status}`))
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
  process.on('message', (task: ClientsTask) => {
    if (task === 'watch') {
      for (const client of clients) client.watch()
      report({ type: 'watching' })
    } else if (task === 'report') {
      report({ type: 'watched', lagsMs: clients.flatMap(({ lagsMs }) => lagsMs) })
      for (const client of clients) client.lagsMs = []
    } else {
      void Promise.all(clients.map(client => client.list(task))).then(([form = task]) => {
        const entries = clients.reduce((sum, client) => sum + client.entries, 0)
        report({ type: 'listed', entries, form })
      })
    }
  })
})
