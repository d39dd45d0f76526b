/** A separate process that sends requests to a server for some time, a fixed number in parallel,
 *  and counts the responses. */

import * as http2 from 'node:http2'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { Http1Client, type RequestHeaders } from './http1-client.ts'

/** The requests to make, as the parent sends them. */
export interface LoadOrder {
  readonly target:
    | { readonly type: 'api'; readonly port: number; readonly version: '1.1' | '2' }
    /** A bare linearizable range that counts. */
    | { readonly type: 'etcd'; readonly endpoint: string }
  /** Asked in turn. */
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
  readonly inFlight: number
  readonly ms: number
}

/** The outcome of the requests. */
export interface LoadReport {
  readonly requests: number
  readonly bytes: number
  readonly seconds: number
  /** Time of each request. */
  readonly timesMs: readonly number[]
}

/** For as many large answers as are under way. */
const sessionMegabytes = 1024

type Ask = (path: string) => Promise<{ readonly status: number; readonly bytes: number }>

interface Connection {
  /** One for each request that is under way at once. */
  readonly asks: readonly Ask[]
  readonly close: () => Promise<void> | void
}

async function overHttp1(port: number, { headers, inFlight }: LoadOrder): Promise<Connection> {
  const connecting = Array.from({ length: inFlight }, () => Http1Client.connect(port))
  const clients = await Promise.all(connecting)
  return {
    asks: clients.map(client => (path: string) => client.get(path, headers)),
    close: () => clients.forEach(client => client.close()),
  }
}

async function overHttp2(port: number, { headers, inFlight }: LoadOrder): Promise<Connection> {
  const session = http2.connect(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    maxSessionMemory: sessionMegabytes,
    settings: { initialWindowSize: 16 * 1024 * 1024 },
  })
  await new Promise(resolve => session.once('connect', resolve))
  session.setLocalWindowSize(64 * 1024 * 1024)
  const ask: Ask = path =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': path, ...headers })
      let bytes = 0
      let status = 0
      stream.on('response', got => (status = got[':status'] ?? 0))
      stream.on('data', (piece: Buffer) => (bytes += piece.length))
      stream.on('end', () => resolve({ status, bytes }))
      stream.on('error', reject)
    })
  return { asks: Array.from({ length: inFlight }, () => ask), close: () => session.destroy() }
}

function ofEtcd(endpoint: string, { inFlight }: LoadOrder): Connection {
  const client = new GrpcClient({ endpoints: [endpoint] })
  const ask: Ask = async path => {
    await client.range({ range: singleKey(keyFromText(path)), countOnly: true })
    return { status: 200, bytes: 0 }
  }
  return { asks: Array.from({ length: inFlight }, () => ask), close: () => client.close() }
}

async function connect(order: LoadOrder): Promise<Connection> {
  const { target } = order
  if (target.type === 'etcd') return ofEtcd(target.endpoint, order)
  return target.version === '2' ? overHttp2(target.port, order) : overHttp1(target.port, order)
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const { paths, ms } = order
  const { asks, close } = await connect(order)
  const timesMs: number[] = []
  let bytes = 0
  let turn = 0
  const askOnce = async (ask: Ask): Promise<void> => {
    const path = paths[turn++ % paths.length]!
    const answer = await ask(path)
    if (answer.status !== 200) throw new Error(`${path} is answered with ${answer.status}`)
    bytes += answer.bytes
  }
  // Connections and whatever is kept are warm when the clock starts.
  await Promise.all(asks.map(askOnce))
  bytes = 0
  const startMs = performance.now()
  const loop = async (ask: Ask): Promise<void> => {
    for (;;) {
      const beginMs = performance.now()
      if (beginMs - startMs >= ms) return
      await askOnce(ask)
      timesMs.push(performance.now() - beginMs)
    }
  }
  await Promise.all(asks.map(loop))
  const seconds = (performance.now() - startMs) / 1000
  await close()
  return { requests: timesMs.length, bytes, seconds, timesMs }
}

process.on('message', (order: LoadOrder) => {
  void run(order).then(report => process.send?.(report))
})
process.on('disconnect', () => process.exit(0))
