/** A client of an API server over one connection, as a client in Go has. It counts what it asks, so
 *  that a bench can tell its own requests from those that it measures. */

import { type ClientHttp2Session, connect } from 'node:http2'
import { performance } from 'node:perf_hooks'

export interface ApiRequest {
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
}

export interface TimedAnswer {
  readonly status: number
  /** Who has answered, where that is Watchglass. */
  readonly by: string
  readonly body: Buffer
  /** Until the answer began. */
  readonly waitedMs: number
}

const requestCounts =
  /^(?:apiserver_request_total|apiserver_longrunning_requests|watchglass_requests_total)(?:\{[^}]*\})? (\S+)$/gm

export class ApiClient {
  readonly #url: string
  readonly #token: string
  #session: ClientHttp2Session
  asked = 0

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
    this.#session = connectTo(url)
  }

  ask({ path, method = 'GET', body, type, accept }: ApiRequest): Promise<TimedAnswer> {
    this.asked++
    const began = performance.now()
    // The server closes what has had no request for a while.
    if (this.#session.closed || this.#session.destroyed) this.#session = connectTo(this.#url)
    const stream = this.#session.request({
      ':path': path,
      ':method': method,
      accept: accept ?? 'application/json',
      ...(type === undefined ? {} : { 'content-type': type }),
      ...authorization(this.#token),
    })
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      let head = { status: 0, by: '', waitedMs: 0 }
      stream.on('response', headers => {
        const by = String(headers['x-watchglass'] ?? '')
        head = { status: headers[':status'] ?? 0, by, waitedMs: performance.now() - began }
      })
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => resolve({ ...head, body: Buffer.concat(pieces) }))
      stream.on('error', reject)
      stream.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** Creates an object that may be there already. */
  async create(path: string, object: unknown): Promise<void> {
    const { status, body } = await this.ask({
      path,
      method: 'POST',
      body: object,
      type: 'application/json',
    })
    if (status !== 201 && status !== 409) {
      throw new Error(`${path} is answered with ${status}: ${body.toString().slice(0, 300)}`)
    }
  }

  /** Requests that the server has begun to answer, without those of this client. kube-apiserver
   *  counts a watch among its requests only once it has ended, and among its long ones until then;
   *  a stand-in of ours counts those that have ended. */
  async othersRequests(): Promise<number> {
    const { body } = await this.ask({ path: '/metrics' })
    const counts = body.toString().matchAll(requestCounts)
    return [...counts].reduce((sum, [, value]) => sum + Number(value), 0) - this.asked
  }

  close(): void {
    this.#session.destroy()
  }
}

const streamWindowBytes = 16 * 1024 * 1024
const connectionWindowBytes = 64 * 1024 * 1024

/** With windows that never hold a server up on a machine's loopback. */
export function connectTo(url: string): ClientHttp2Session {
  const session = connect(url, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: streamWindowBytes },
  })
  session.once('connect', (connected, socket) => {
    connected.setLocalWindowSize(connectionWindowBytes)
    // Node adds some for each stream.
    socket.setMaxListeners(0)
  })
  return session
}

/** None without a token. */
export function authorization(token: string): Readonly<Record<string, string>> {
  return token === '' ? {} : { authorization: `Bearer ${token}` }
}
