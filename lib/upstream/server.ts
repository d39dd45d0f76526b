/** One server of the upstream: its connections, kept apart by who is seen behind them and by how long they are used.
 *
 *  A connection with a certificate of ours never carries what a client sent with credentials of its own, because servers look at
 *  certificates first: the client would be us. Requests that may never end have connections apart from the rest, so that a
 *  thousand watches do not stand in the way of a get (a pool looks at its connections one by one). HTTP/1.1 with one request at a
 *  time on each connection: the framing of every request is our own, and a broken answer harms nobody else. */

import type { Socket } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../base/clock.ts'
import { ConnectionError } from './connections/connection.ts'
import { ConnectionPool } from './connections/connection-pool.ts'
import { openSocket } from './connections/socket.ts'
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
/** Of these for each user: more than any client has under way, and a quarter of what there is. */
const perUserMax = 64
/** Below the 90 s and more after which API servers close idle connections, so that hardly any request meets a closing one. */
const idleMs = 30_000
/** As much as a server of ours takes from its clients. */
const headersMaxBytes = 64 * 1024
/** A connection on which nothing happened for so long is probed by the system: watches may be quiet for an hour. */
const vanishedAfterMs = 30_000

export interface UpstreamServerOptions {
  readonly url: URL
  readonly tls?: UpstreamTls | undefined
  readonly timeouts?: UpstreamTimeouts | undefined
  readonly clock: Clock
}

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
  readonly #clock: Clock
  readonly #pools = new Map<UpstreamIdentity, Pool>()
  readonly #connections: Readonly<Record<Use, Map<UpstreamIdentity, ConnectionPool>>> = {
    short: new Map(),
    long: new Map(),
  }

  constructor({ url, tls = {}, timeouts = defaultUpstreamTimeouts, clock }: UpstreamServerOptions) {
    this.url = url
    this.#tls = tls
    this.#timeouts = timeouts
    this.#clock = clock
  }

  /** For calls of our own. */
  pool(as: UpstreamIdentity): Dispatcher {
    const pool = this.#pools.get(as) ?? this.#createPool(as)
    this.#pools.set(as, pool)
    return pool
  }

  /** For requests that pass: the connections for an identity and a use. */
  connections(as: UpstreamIdentity, use: Use): ConnectionPool {
    const known = this.#connections[use].get(as)
    if (known !== undefined) return known
    const { connectMs, answerMs } = this.#timeouts
    const connections = new ConnectionPool({
      url: this.url,
      tls: this.#credentials(as),
      clock: this.#clock,
      connectionsMax: use === 'short' ? connectionsMax : Infinity,
      perUserMax: use === 'short' ? perUserMax : Infinity,
      connectMs,
      answerMs: use === 'short' ? answerMs : 0,
      idleMs,
    })
    this.#connections[use].set(as, connections)
    return connections
  }

  /** A connection of its own, for a protocol that takes it over. */
  connect(as: UpstreamIdentity, onConnected: () => void): Socket {
    const { url } = this
    const { connectMs } = this.#timeouts
    const socket = openSocket({ url, tls: this.#credentials(as) }, () => {
      cancel()
      onConnected()
    })
    const cancel = this.#clock.setTimer(connectMs, () =>
      socket.destroy(new ConnectionError('ETIMEDOUT', 'no connection in time')),
    )
    socket.once('close', cancel)
    return socket
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    for (const connections of Object.values(this.#connections)) {
      for (const one of connections.values()) one.close()
    }
    await Promise.all([...this.#pools.values()].map(pool => pool.destroy()))
    this.#pools.clear()
  }

  #createPool(as: UpstreamIdentity): Pool {
    const { connectMs, answerMs } = this.#timeouts
    return new Pool(this.url.origin, {
      connections: connectionsMax,
      pipelining: 1,
      keepAliveTimeout: idleMs,
      maxHeaderSize: headersMaxBytes,
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
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
