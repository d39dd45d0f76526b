/** A separate process with the clients: it parses as little as possible of what comes, because it
 *  shares its core with the etcd and must keep up with a server that has a core for itself. */

import { once } from 'node:events'
import type { OnReadOpts } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { answerOrders } from './child.ts'
import { Http2Reader, type TakeBytes } from './http2-reader.ts'
import { Lags } from './lags.ts'
import {
  type CloseOrder,
  type CountOrder,
  type CountReport,
  type DownloadOrder,
  type DownloadReport,
  nowMicroseconds,
  type OpenOrder,
} from './orders.ts'
import { StampReader } from './stamp-reader.ts'

const perConnection = 100
/** Everything that comes is read into this, and looked at before the next is read. */
const buffer = Buffer.alloc(64 * 1024)

class Group {
  readonly closers: (() => void)[] = []
  events = 0
  readonly lags = new Lags()
  ended = 0
  #now = 0

  /** A watcher of this group, which notes all that has come in one piece as of the same moment. */
  reader(): TakeBytes {
    const reader = new StampReader(stamp => {
      this.events++
      this.lags.note((this.#now - stamp) / 1000)
    })
    return (bytes, from, to) => {
      this.#now = nowMicroseconds()
      reader.take(bytes, from, to)
    }
  }
}

const groups = new Map<string, Group>()

async function open(order: OpenOrder): Promise<void> {
  const group = new Group()
  groups.set(order.name, group)
  if (order.bytesPerSecond !== undefined) {
    await openSlow(group, order, order.bytesPerSecond)
    return
  }
  if (order.version === '2') {
    for (let from = 0; from < order.paths.length; from += perConnection) {
      await openConnection(group, order.port, order.paths.slice(from, from + perConnection))
    }
    return
  }
  const atOnce = 32
  let next = 0
  const work = async (): Promise<void> => {
    while (next < order.paths.length) {
      const path = order.paths[next++]!
      const take = group.reader()
      await new Promise<void>(resolve => {
        const socket = openSocket(order.port, 'http/1.1', (bytes, to) => {
          take(bytes, 0, to)
          resolve()
        })
        noteEnd(group, socket)
        socket.write(order.version === 'WebSocket' ? handshakeFor(path) : requestFor(path))
      })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

function noteEnd(group: Group, socket: TLSSocket): void {
  socket.on('close', () => group.ended++)
  group.closers.push(() => socket.destroy())
}

const slowReadMs = 50

/** Opens watchers that read less than what comes, over HTTP/1.1. Events are not looked at. */
async function openSlow(
  group: Group,
  { port, paths }: OpenOrder,
  bytesPerSecond: number,
): Promise<void> {
  for (const path of paths) {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
    socket.on('error', () => undefined)
    noteEnd(group, socket)
    await once(socket, 'secureConnect')
    socket.pause()
    socket.write(requestFor(path))
    const timer = setInterval(() => {
      const bytes = Math.min(socket.readableLength, (bytesPerSecond * slowReadMs) / 1000)
      if (bytes >= 1) socket.read(Math.floor(bytes))
      // Nothing comes into an empty buffer unless it is asked for.
      else if (bytesPerSecond > 0) socket.read(0)
    }, slowReadMs)
    socket.on('close', () => clearInterval(timer))
  }
}

/** Opens a socket; bytes that are written to it at once are sent when it is connected. */
function openSocket(
  port: number,
  protocol: 'h2' | 'http/1.1',
  take: (bytes: Buffer, to: number) => void,
): TLSSocket {
  const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    onread: {
      buffer,
      callback(length) {
        take(buffer, length)
        return true
      },
    },
  }
  const socket = connect(options)
  socket.on('error', () => undefined)
  return socket
}

function requestFor(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
}

function handshakeFor(path: string): string {
  const lines = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
    'Origin: https://127.0.0.1',
  ]
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

async function openConnection(group: Group, port: number, paths: readonly string[]): Promise<void> {
  const socket = openSocket(port, 'h2', (bytes, to) => reader.take(bytes, to))
  const reader = new Http2Reader(socket)
  noteEnd(group, socket)
  await Promise.all(paths.map(path => reader.get(path, group.reader())))
}

async function count({ name, ms }: CountOrder): Promise<CountReport> {
  const group = groups.get(name)!
  group.lags.clear()
  const before = group.events
  const startMs = performance.now()
  const cpu = process.cpuUsage()
  await new Promise(resolve => {
    setTimeout(resolve, ms)
  })
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - startMs) / 1000
  const { lags } = group
  return {
    events: group.events - before,
    seconds,
    readerCpuSeconds: (user + system) / 1e6,
    lagP50Ms: lags.percentileMs(0.5),
    lagP99Ms: lags.percentileMs(0.99),
    lagMaxMs: lags.percentileMs(1),
    ended: group.ended,
  }
}

async function download(order: DownloadOrder): Promise<DownloadReport> {
  const downloads: Download[] = []
  while (downloads.length < order.streams) {
    const some = Math.min(32, order.streams - downloads.length)
    const opened = Array.from({ length: some }, () => new Download(order.port, order.bytes))
    await Promise.all(opened.map(({ socket }) => once(socket, 'secureConnect')))
    downloads.push(...opened)
  }
  const startMs = performance.now()
  await Promise.all(downloads.map(each => each.get(order.path)))
  const seconds = (performance.now() - startMs) / 1000
  for (const { socket } of downloads) socket.destroy()
  return { seconds, bytes: downloads.reduce((sum, { bytes }) => sum + bytes, 0) }
}

/** Bytes of one answer, until there are enough of them. */
class Download {
  readonly socket: TLSSocket
  readonly #wanted: number
  #done: () => void = () => undefined
  bytes = 0

  constructor(port: number, wanted: number) {
    this.#wanted = wanted
    this.socket = openSocket(port, 'http/1.1', (_, length) => {
      this.bytes += length
      if (this.bytes >= this.#wanted) this.#done()
    })
  }

  get(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = resolve
      this.socket.on('close', () => reject(new Error(`a stream ended after ${this.bytes} bytes`)))
      this.socket.write(requestFor(path))
    })
  }
}

answerOrders((order: OpenOrder | CountOrder | CloseOrder | DownloadOrder) => {
  switch (order.type) {
    case 'open':
      return open(order)
    case 'count':
      return count(order)
    case 'download':
      return download(order)
    case 'close': {
      for (const close of groups.get(order.name)?.closers ?? []) close()
      groups.delete(order.name)
      return undefined
    }
  }
})
process.send?.('ready')
