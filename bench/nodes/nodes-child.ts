/** A process of its own with the nodes: each has one HTTP/2 connection, for its kubelet and its
 *  kube-proxy, and reads as little as possible of what comes. */

import { once } from 'node:events'
import type { OnReadOpts } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { answerOrders } from '../watch/child.ts'
import { Http2Reader, type TakeBytes } from '../watch/http2-reader.ts'
import { Lags } from '../watch/lags.ts'
import { nowMicroseconds, stampDigits } from '../watch/orders.ts'
import { type StampFormat, StampReader } from '../watch/stamp-reader.ts'
import { headersOf, type NodeWatch, watchesOfNode } from './node-watches.ts'
import type {
  BeginOrder,
  ConnectOrder,
  Delivered,
  DeliveredOrder,
  DeliveredReport,
  WatchOrder,
} from './orders.ts'

/** As many nodes connect, or begin their watches, at once. */
const atOnce = 32
/** The annotation in protobuf: its name, and the tag and length of its value. */
const stamps: StampFormat = {
  mark: Buffer.concat([Buffer.from('bench/stamp'), Buffer.of(0x12, stampDigits)]),
  frameMinBytes: 1_000,
}
/** Everything that comes is read into this, and looked at before the next is read. */
const buffer = Buffer.alloc(64 * 1024)

/** The events of one kind, for all nodes. */
class Events {
  readonly #lags = new Lags()
  #count = 0
  #now = 0
  #awaited = Infinity
  #whole: () => void = () => undefined

  reader(): TakeBytes {
    const reader = new StampReader(stamp => {
      this.#count++
      this.#lags.note((this.#now - stamp) / 1000)
      if (this.#count >= this.#awaited) this.#whole()
    }, stamps)
    return (bytes, from, to) => {
      this.#now = nowMicroseconds()
      reader.take(bytes, from, to)
    }
  }

  begin(): void {
    this.#count = 0
    this.#lags.clear()
  }

  /** Resolves when so many have come, or after that time. */
  async come(count: number, waitMaxMs: number): Promise<void> {
    if (this.#count >= count) return
    this.#awaited = count
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, waitMaxMs)
      this.#whole = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#awaited = Infinity
  }

  get report(): Delivered {
    const [lagP50Ms, lagP99Ms, lagMaxMs] = [0.5, 0.99, 1].map(share =>
      this.#count === 0 ? 0 : this.#lags.percentileMs(share),
    ) as [number, number, number]
    return { events: this.#count, lagP50Ms, lagP99Ms, lagMaxMs }
  }
}

const events = { pods: new Events(), slices: new Events() }
const connections: NodeConnection[] = []
let ended = 0

function noteEnd(): void {
  ended++
}

async function inWaves(count: number, begin: (number: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    const wave = Array.from({ length: Math.min(atOnce, count - from) }, (_, i) => begin(from + i))
    await Promise.all(wave)
  }
}

/** A node's connection. */
interface NodeConnection {
  readonly reader: Http2Reader
  /** Fails when the connection ends. */
  readonly over: Promise<never>
}

function connectNode(port: number): Promise<NodeConnection> {
  const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
    onread: {
      buffer,
      callback(length) {
        reader.take(buffer, length)
        return true
      },
    },
  }
  const socket: TLSSocket = connect(options)
  const reader = new Http2Reader(socket, noteEnd)
  const over = new Promise<never>((_resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the server ends the connection of a node')))
  })
  // Once all have begun, ends are counted.
  over.catch(noteEnd)
  const secured = once(socket, 'secureConnect').then(() => ({ reader, over }))
  return Promise.race([secured, over])
}

/** A connection on which nobody asks anything would be closed: it comes with its first watch. */
async function joinNode(port: number, number: number): Promise<void> {
  connections[number] = await connectNode(port)
  await beginWatches(number, watchesOfNode(number).slice(0, 1))
}

function beginWatches(number: number, watches: readonly NodeWatch[]): Promise<unknown> {
  const { reader, over } = connections[number]!
  const answered = watches.map(({ path, by, stamped }) => {
    const take = stamped === undefined ? nothing : events[stamped].reader()
    return reader.get(path, take, headersOf(by, number))
  })
  return Promise.race([over, Promise.all(answered)])
}

function nothing(): void {}

async function delivered(order: DeliveredOrder): Promise<DeliveredReport> {
  const { pods, slices, waitMaxMs } = order
  await Promise.all([events.pods.come(pods, waitMaxMs), events.slices.come(slices, waitMaxMs)])
  return { pods: events.pods.report, slices: events.slices.report, ended }
}

answerOrders((order: ConnectOrder | WatchOrder | BeginOrder | DeliveredOrder) => {
  switch (order.type) {
    case 'connect':
      return inWaves(order.nodes, number => joinNode(order.port, number))
    case 'watch':
      return inWaves(connections.length, number =>
        beginWatches(number, watchesOfNode(number).slice(1)),
      )
    case 'begin':
      events.pods.begin()
      events.slices.begin()
      return undefined
    case 'delivered':
      return delivered(order)
  }
})
process.send?.('ready')
