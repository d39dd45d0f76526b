/** A process of its own that asks a server for the same thing for a while, so many requests at a time, and counts what comes. */

import * as http2 from 'node:http2'
import * as https from 'node:https'

/** What to ask, as the parent sends it. */
export interface LoadOrder {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly version: '1.1' | '2'
  readonly inFlight: number
  readonly ms: number
}

/** What came of it. */
export interface LoadReport {
  readonly requests: number
  readonly bytes: number
  readonly seconds: number
  /** Of the last answer. */
  readonly bodyBytes: number
  readonly failed: number
}

type Ask = () => Promise<{ status: number; bytes: number }>

function ask1({ port, path, headers }: LoadOrder, agent: https.Agent): Ask {
  const options = { host: '127.0.0.1', port, path, headers, agent, rejectUnauthorized: false }
  return () =>
    new Promise((resolve, reject) => {
      https
        .get(options, response => {
          let bytes = 0
          response.on('data', (piece: Buffer) => (bytes += piece.length))
          response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }))
        })
        .on('error', reject)
    })
}

function ask2({ path, headers }: LoadOrder, session: http2.ClientHttp2Session): Ask {
  return () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': path, ...headers })
      let bytes = 0
      let status = 0
      stream.on('response', got => (status = got[':status'] ?? 0))
      stream.on('data', (piece: Buffer) => (bytes += piece.length))
      stream.on('end', () => resolve({ status, bytes }))
      stream.on('error', reject)
    })
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const agent = new https.Agent({ keepAlive: true, maxSockets: order.inFlight })
  const session =
    order.version === '2'
      ? http2.connect(`https://127.0.0.1:${order.port}`, {
          rejectUnauthorized: false,
          settings: { initialWindowSize: 16 * 1024 * 1024 },
        })
      : undefined
  session?.on('connect', () => session.setLocalWindowSize(64 * 1024 * 1024))
  const ask = session === undefined ? ask1(order, agent) : ask2(order, session)
  await ask()
  const startMs = performance.now()
  const report = { requests: 0, bytes: 0, seconds: 0, bodyBytes: 0, failed: 0 }
  const work = async (): Promise<void> => {
    while (performance.now() - startMs < order.ms) {
      const { status, bytes } = await ask()
      report.requests++
      report.bytes += bytes
      report.bodyBytes = bytes
      if (status !== 200) report.failed++
    }
  }
  await Promise.all(Array.from({ length: order.inFlight }, work))
  session?.destroy()
  agent.destroy()
  return { ...report, seconds: (performance.now() - startMs) / 1000 }
}

process.on('message', (order: LoadOrder) => {
  void run(order).then(report => process.send?.(report))
})
process.on('disconnect', () => process.exit(0))
