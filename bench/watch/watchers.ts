/** A process of its own that watches: it reads as little of what comes as it can, since it shares its core with the etcd, and must
 *  keep up with a server that has one for itself. */

import * as http2 from 'node:http2'
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { answerOrders } from './child.ts'
import { Lags } from './lags.ts'
import {
  type CloseOrder,
  type CountOrder,
  type CountReport,
  type DownloadOrder,
  type DownloadReport,
  nowMicroseconds,
  type OpenOrder,
  stampDigits,
  stampMark,
} from './orders.ts'

const mark = Buffer.from(stampMark)
/** From one stamp to the next it is never less: pods are larger. */
const frameMinBytes = 3_000
const perConnection = 100

/** Finds the stamps in a stream of frames. */
class StampReader {
  readonly #group: Group
  #skip = 0
  #tail: Buffer = Buffer.alloc(0)

  constructor(group: Group) {
    this.#group = group
  }

  readonly take = (bytes: Buffer): void => {
    const carried = this.#tail.length
    const all = carried === 0 ? bytes : Buffer.concat([this.#tail, bytes])
    let at = this.#skip
    for (;;) {
      const found = at < all.length ? all.indexOf(mark, at) : -1
      const end = found + mark.length + stampDigits
      if (found < 0 || end > all.length) break
      this.#group.note(Number(all.toString('latin1', found + mark.length, end)))
      at = found + frameMinBytes
    }
    // A stamp may lie across two pieces.
    const kept = Math.max(at, all.length - mark.length - stampDigits)
    this.#tail = kept < all.length ? Buffer.from(all.subarray(kept)) : Buffer.alloc(0)
    this.#skip = Math.max(0, kept - all.length)
  }
}

class Group {
  readonly closers: (() => void)[] = []
  events = 0
  readonly lags = new Lags()

  note(stamp: number): void {
    this.events++
    this.lags.note((nowMicroseconds() - stamp) / 1000)
  }
}

const groups = new Map<string, Group>()

async function open(order: OpenOrder): Promise<void> {
  const group = new Group()
  groups.set(order.name, group)
  if (order.version === '2') {
    for (let from = 0; from < order.paths.length; from += perConnection) {
      await openSession(group, order.port, order.paths.slice(from, from + perConnection))
    }
    return
  }
  const atOnce = 32
  let next = 0
  const work = async (): Promise<void> => {
    while (next < order.paths.length) {
      const path = order.paths[next++]!
      const socket = await connected(order.port)
      const reader = new StampReader(group)
      socket.on('data', reader.take)
      group.closers.push(() => socket.destroy())
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
      await once(socket, 'data')
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function connected(port: number): Promise<TLSSocket> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  })
  await once(socket, 'secureConnect')
  socket.on('error', () => undefined)
  return socket
}

async function openSession(group: Group, port: number, paths: readonly string[]): Promise<void> {
  const session = http2.connect(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: 1024 * 1024 },
  })
  await once(session, 'remoteSettings')
  session.setLocalWindowSize(16 * 1024 * 1024)
  group.closers.push(() => session.destroy())
  await Promise.all(
    paths.map(async path => {
      const stream = session.request({ ':path': path })
      const reader = new StampReader(group)
      stream.on('data', reader.take)
      stream.on('error', () => undefined)
      await once(stream, 'response')
    }),
  )
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
  }
}

async function download(order: DownloadOrder): Promise<DownloadReport> {
  const sockets: TLSSocket[] = []
  while (sockets.length < order.streams) {
    const some = Math.min(32, order.streams - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: some }, () => connected(order.port)))))
  }
  const startMs = performance.now()
  let bytes = 0
  await Promise.all(
    sockets.map(
      socket =>
        new Promise<void>((resolve, reject) => {
          let got = 0
          socket.on('data', (piece: Buffer) => {
            got += piece.length
            bytes += piece.length
            if (got >= order.bytes) resolve()
          })
          socket.on('close', () => reject(new Error(`a stream ended after ${got} bytes`)))
          socket.write(`GET ${order.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
        }),
    ),
  )
  const seconds = (performance.now() - startMs) / 1000
  for (const socket of sockets) {
    socket.removeAllListeners('close')
    socket.destroy()
  }
  return { seconds, bytes }
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
