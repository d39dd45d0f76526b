/** One server of the upstream: its connections, in separate pools by the identity that they show
 *  and by how long requests use them.
 *
 *  A connection with our certificate never carries a request with a client's own credentials,
 *  because servers check certificates first and would take the client for us. Long-running requests
 *  have separate connections, so that a thousand watches take none of those that gets share; an
 *  upgrade has one that no other request ever uses (CVE-2018-1002105). HTTP/1.1 with one request at
 *  a time on each connection: a broken response affects no other request. */

import { createRequire } from 'node:module'
import type * as Undici from 'undici'
import { Bag, trusting } from '@watchglass/base'
import { ConnectionPool } from './connection-pool.ts'
import { connectThrough, type ForwardProxyAddress } from './connect-through.ts'
import type { UpstreamIdentity } from '@watchglass/cache'

/** Contents of PEM files. */
export interface UpstreamTls {
  readonly ca?: Buffer | undefined
  /** Used for our own requests only. */
  readonly own?: ClientCertificate | undefined
  /** Used for requests whose callers were authenticated here. */
  readonly frontProxy?: ClientCertificate | undefined
  /** The name in the server's certificate, if it is not the host of its URL. */
  readonly serverName?: string | undefined
  /** The server's certificate is not checked. */
  readonly isUnverified?: boolean | undefined
}

export interface ClientCertificate {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Timeouts of the upstream. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  /** Until a response begins, and between two pieces of it; not for long-running requests. */
  readonly answerMs: number
  /** For one of our own calls, from its beginning to its end. */
  readonly callMs: number
}

/** kube-apiserver ends requests itself after a minute. */
export const defaultUpstreamTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  answerMs: 75_000,
  callMs: 10_000,
}

/** Connections for short requests. Beyond it requests wait. */
const connectionsMax = 256
/** The connections for each user: more than any client has under way, and a quarter of what there
 *  is. */
const perUserMax = 64
/** Shorter than the 90 s and more after which API servers close idle connections, so that requests
 *  rarely use a closing one. */
const idleMs = 30_000
/** Connections are closed this much before the server's keep-alive time ends, because a request may
 *  be in flight then. */
const idleMarginMs = 1_000
/** The limit that our own server has for its clients. */
const headersMaxBytes = 64 * 1024
/** TCP keep-alive probes begin after this time without traffic: watches may be quiet for an
 *  hour. */
const vanishedAfterMs = 30_000

export interface UpstreamServerOptions {
  /** May have a path, below which the API is. */
  readonly url: URL
  /** The proxy through which it is reached; undefined: directly. */
  readonly through?: ForwardProxyAddress | undefined
  readonly tls?: UpstreamTls | undefined
  readonly timeouts?: UpstreamTimeouts | undefined
}

/** The uses of a connection, by how long they last. */
export type Use = 'short' | 'long' | 'upgrade'

export class UpstreamServer {
  readonly url: URL
  /** The known problem of the server; undefined if there is none. */
  problem: string | undefined = undefined
  /** Requests under way. */
  load = 0
  /** Stands before the path of each request: `/k8s/clusters/c-1`, or nothing. */
  readonly pathPrefix: string
  #tls: UpstreamTls
  readonly #through: ForwardProxyAddress | undefined
  readonly #timeouts: UpstreamTimeouts
  readonly #pools = new Map<UpstreamIdentity, Undici.Pool>()
  #lines = new Bag<Undici.Client>()
  /** Pools of earlier certificates, with requests that are not over. */
  #retired: ConnectionPool[] = []
  readonly #connections: Readonly<Record<Use, Map<UpstreamIdentity, ConnectionPool>>> = {
    short: new Map(),
    long: new Map(),
    upgrade: new Map(),
  }

  constructor(options: UpstreamServerOptions) {
    const { url, through, tls = {}, timeouts = defaultUpstreamTimeouts } = options
    this.url = url
    this.pathPrefix = url.pathname.replace(/\/+$/, '')
    this.#through = through
    this.#tls = tls
    this.#timeouts = timeouts
  }

  /** For calls of our own. */
  pool(as: UpstreamIdentity): Undici.Dispatcher {
    const pool = this.#pools.get(as) ?? this.#createPool(as)
    this.#pools.set(as, pool)
    return pool
  }

  /** A single connection for calls as ourselves. The caller closes it; a renewal of certificates
   *  closes it, too. */
  openLine(): { readonly client: Undici.Client; readonly close: () => void } {
    const { Client } = loadUndici()
    const options = { pipelining: 1, ...this.#clientOptions('ourselves') }
    const client = new Client(this.url.origin, options)
    // Said by the caller: a client that never had a connection says nothing when it ends.
    const forget = this.#lines.add(client)
    const close = (): void => {
      forget()
      void client.destroy()
    }
    return { client, close }
  }

  /** The connections for an identity and a use, for requests that pass. */
  connections(as: UpstreamIdentity, use: Use): ConnectionPool {
    const known = this.#connections[use].get(as)
    if (known !== undefined) return known
    const { Client } = loadUndici()
    const { connect, ...options } = this.#clientOptions(as)
    const isShort = use === 'short'
    const limits = isShort ? {} : { headersTimeout: 0, bodyTimeout: 0 }
    const connections = new ConnectionPool({
      createClient: () =>
        new Client(this.url.origin, { ...options, ...limits, pipelining: 1, connect }),
      connectionsMax: isShort ? connectionsMax : Infinity,
      perUserMax: isShort ? perUserMax : Infinity,
      isReused: use !== 'upgrade',
    })
    this.#connections[use].set(as, connections)
    return connections
  }

  /** Uses other certificates from now on. A server that checks the date of a certificate with each
   *  request would refuse those of old connections, so these end with what is under way on them. */
  renew(tls: UpstreamTls): void {
    this.#tls = tls
    for (const pool of this.#pools.values()) void pool.close()
    this.#pools.clear()
    for (const line of this.#lines) void line.close()
    this.#lines = new Bag()
    this.#retired = this.#retired.filter(({ isEmpty }) => !isEmpty)
    for (const connections of Object.values(this.#connections)) {
      for (const one of connections.values()) {
        one.retire()
        this.#retired.push(one)
      }
      connections.clear()
    }
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    for (const one of this.#retired) one.close()
    for (const connections of Object.values(this.#connections)) {
      for (const one of connections.values()) one.close()
    }
    await Promise.all([...this.#pools.values(), ...this.#lines].map(one => one.destroy()))
    this.#pools.clear()
    this.#lines = new Bag()
  }

  #createPool(as: UpstreamIdentity): Undici.Pool {
    const { Pool } = loadUndici()
    return new Pool(this.url.origin, {
      connections: connectionsMax,
      pipelining: 1,
      ...this.#clientOptions(as),
    })
  }

  #clientOptions(as: UpstreamIdentity): Undici.Client.Options & ConnectorOptions {
    const { connectMs, answerMs } = this.#timeouts
    // One for all, since it remembers the TLS session, which makes the next connection cheaper.
    const connector = loadUndici().buildConnector({
      ...this.#credentials(as),
      timeout: connectMs,
      keepAlive: true,
      keepAliveInitialDelay: vanishedAfterMs,
    })
    const through = this.#through
    return {
      keepAliveTimeout: idleMs,
      keepAliveTimeoutThreshold: idleMarginMs,
      maxHeaderSize: headersMaxBytes,
      headersTimeout: answerMs,
      bodyTimeout: answerMs,
      connect:
        through === undefined
          ? connector
          : connectThrough(through, { connector, timeoutMs: connectMs }),
    }
  }

  #credentials(as: UpstreamIdentity): Undici.buildConnector.BuildOptions {
    const { ca, own, frontProxy, serverName, isUnverified = false } = this.#tls
    const certificate = as === 'ourselves' ? own : as === 'front-proxy' ? frontProxy : undefined
    return {
      ...trusting(ca),
      ...(serverName === undefined ? {} : { servername: serverName }),
      ...(isUnverified ? { rejectUnauthorized: false } : {}),
      ...certificate,
    }
  }
}

interface ConnectorOptions {
  readonly connect: Undici.buildConnector.connector
}

/** Loaded by the first request: it takes a tenth of a second, which a process without an upstream
 *  does not need to spend. */
function loadUndici(): typeof Undici {
  return createRequire(import.meta.url)('undici') as typeof Undici
}
