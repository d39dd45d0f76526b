/** A separate process with watchers who count frames and do nothing else, or with a client that
 *  gets one object again and again. */

import type { OnReadOpts } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { Http1Client } from '../list/http1-client.ts'
import { answerOrders } from './child.ts'
import {
  type GetsOrder,
  type GetsReport,
  nowMicroseconds,
  type TakeOrder,
  type TakeReport,
  type WatchAllOrder,
} from './orders.ts'

const newline = 0x0a
const brace = 0x7d
const buffer = Buffer.alloc(256 * 1024)

let readers: Reader[] = []
let wanted = 0
let whole: () => void = () => undefined
let firstAt = 0

class Reader {
  readonly #socket: TLSSocket
  #opened: () => void = () => undefined
  #last = 0
  frames = 0

  constructor(port: number) {
    const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      onread: {
        buffer,
        callback: length => {
          this.#take(length)
          return true
        },
      },
    }
    this.#socket = connect(options)
    this.#socket.on('error', () => undefined)
  }

  open(path: string): Promise<void> {
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    return new Promise(resolve => {
      this.#opened = resolve
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  /** A frame ends with a brace and a newline; nothing else that is sent does. */
  #take(length: number): void {
    const bytes = buffer.subarray(0, length)
    const before = this.frames
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
      if ((at === 0 ? this.#last : bytes[at - 1]) === brace) this.frames++
    }
    this.#last = bytes[length - 1]!
    this.#opened()
    if (before === 0 && this.frames > 0 && firstAt === 0) firstAt = nowMicroseconds()
    if (before < wanted && this.frames >= wanted) whole()
  }
}

async function watchAll({ port, path, watchers }: WatchAllOrder): Promise<void> {
  for (const reader of readers) reader.close()
  readers = []
  while (readers.length < watchers) {
    const some = Array.from(
      { length: Math.min(32, watchers - readers.length) },
      () => new Reader(port),
    )
    await Promise.all(some.map(reader => reader.open(path)))
    readers.push(...some)
  }
}

/** Waits until each watcher has so many frames. */
async function take({ frames }: TakeOrder): Promise<TakeReport> {
  const askedAt = nowMicroseconds()
  firstAt = 0
  for (const reader of readers) reader.frames = 0
  let left = readers.length
  wanted = frames
  await new Promise<void>(resolve => {
    whole = () => {
      if (--left === 0) resolve()
    }
  })
  // A few hundred frames may come in one read: figures are divided by the time that they take.
  const endAt = Math.max(nowMicroseconds(), firstAt + 1)
  return { firstMs: (firstAt - askedAt) / 1000, restMs: (endAt - firstAt) / 1000 }
}

let isGetting = false
const lates: number[] = []

/** One get after the other, on one connection. */
async function get({ port, path, everyMs }: GetsOrder): Promise<void> {
  const client = await Http1Client.connect(port)
  isGetting = true
  lates.length = 0
  const go = async (): Promise<void> => {
    while (isGetting) {
      const startMs = performance.now()
      const { status } = await client.get(path, {})
      if (status !== 200) throw new Error(`a get is answered with ${status}`)
      lates.push(performance.now() - startMs)
      await new Promise(resolve => {
        setTimeout(resolve, everyMs)
      })
    }
    client.close()
  }
  void go()
}

function stop(): GetsReport {
  isGetting = false
  return { gets: lates.length, lateMaxMs: Math.max(0, ...lates) }
}

answerOrders((order: WatchAllOrder | TakeOrder | GetsOrder | { readonly type: 'stop' }) => {
  switch (order.type) {
    case 'watch all':
      return watchAll(order)
    case 'take':
      return take(order)
    case 'gets':
      return get(order)
    case 'stop':
      return stop()
  }
})
process.send?.('ready')
