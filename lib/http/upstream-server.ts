/** One server of the upstream: its connections, kept apart by who is seen behind them and by how long they are used.
 *
 *  A connection with a certificate of ours never carries what a client sent with credentials of its own, because servers look at
 *  certificates first: the client would be us. Requests that may never end have connections apart from the rest, so that a
 *  thousand watches do not stand in the way of a get (a pool looks at its connections one by one). HTTP/1.1 with one request at a
 *  time on each connection: the framing of every request is our own, and a broken answer harms nobody else. */

import * as http from 'node:http'
import * as https from 'node:https'
import { type Dispatcher, Pool } from 'undici'
import type { UpstreamIdentity } from './upstream.ts'

/** Contents of PEM files. */
export interface UpstreamTls {
  readonly ca?: Buffer | undefined
  /** Shown with requests of our own only. */
  readonly own?: ClientCertificate | undefined
  /** Shown with requests whose callers were verified here. */
  readonly frontProxy?: ClientCertificate | undefined
}

export interface ClientCertificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/** How long the upstream may take. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  /** Until an answer begins, and between two pieces of it, unless it may be long in coming. */
  readonly answerMs: number
  /** For a call of our own, from its beginning to its end. */
  readonly callMs: number
}

/** kube-apiserver ends requests itself after a minute. */
export const defaultUpstreamTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  answerMs: 75_000,
  callMs: 10_000,
}

/** Connections for requests that end soon. Beyond it they wait for each other. */
const connectionsMax = 256
/** Below the 90 s and more after which API servers close idle connections, so that hardly any request meets a closing one. */
const idleMs = 30_000
/** As much as a server of ours takes from its clients. */
const headersMaxBytes = 64 * 1024
/** A connection on which nothing happened for so long is probed by the system: watches may be quiet for an hour. */
const vanishedAfterMs = 30_000

/** How long a connection is used by one request. */
export type Use = 'short' | 'long'

export class UpstreamServer {
  readonly url: URL
  /** What is wrong with it, as far as is known. */
  problem: string | undefined = undefined
  /** Requests under way. */
  load = 0
  readonly #tls: UpstreamTls
  readonly #timeouts: UpstreamTimeouts
  readonly #pools = new Map<string, Pool>()

  constructor(url: URL, tls: UpstreamTls, timeouts: UpstreamTimeouts) {
    this.url = url
    this.#tls = tls
    this.#timeouts = timeouts
  }

  /** The connections for an identity and a use. */
  pool(as: UpstreamIdentity, use: Use): Dispatcher {
    const name = `${as} ${use}`
    const pool = this.#pools.get(name) ?? this.#createPool(as, use)
    this.#pools.set(name, pool)
    return pool
  }

  /** The beginning of a request on a connection of its own. */
  request(as: UpstreamIdentity, options: http.RequestOptions): http.ClientRequest {
    const { url } = this
    const all: https.RequestOptions = {
      ...options,
      ...this.#credentials(as),
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port,
      agent: false,
      maxHeaderSize: headersMaxBytes,
      timeout: this.#timeouts.connectMs,
    }
    return url.protocol === 'https:' ? https.request(all) : http.request(all)
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.destroy()))
    this.#pools.clear()
  }

  #createPool(as: UpstreamIdentity, use: Use): Pool {
    const { connectMs, answerMs } = this.#timeouts
    return new Pool(this.url.origin, {
      connections: use === 'short' ? connectionsMax : null,
      pipelining: 1,
      keepAliveTimeout: idleMs,
      maxHeaderSize: headersMaxBytes,
      headersTimeout: use === 'short' ? answerMs : 0,
      bodyTimeout: use === 'short' ? answerMs : 0,
      connect: {
        ...this.#credentials(as),
        timeout: connectMs,
        keepAlive: true,
        keepAliveInitialDelay: vanishedAfterMs,
      },
    })
  }

  #credentials(as: UpstreamIdentity): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
    const { ca, own, frontProxy } = this.#tls
    const certificate = as === 'ourselves' ? own : as === 'front-proxy' ? frontProxy : undefined
    return { ...(ca === undefined ? {} : { ca }), ...certificate }
  }
}
