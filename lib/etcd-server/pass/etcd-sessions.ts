/** Connections to etcd for calls that pass: HTTP/2 as it is, because what passes is neither read
 *  nor written by us. Streams that stay open have a connection apart from calls: a big answer
 *  can starve the streams beside it (etcd issue 15402). */

import * as http2 from 'node:http2'
import type { SecureContextOptions } from 'node:tls'
import { CacheError, type CancelTimer, type Clock, trusting } from '@watchglass/base'
import { parseEndpoint, type Tls } from '@watchglass/etcd'

export interface EtcdSessionsOptions {
  /** Such as `https://10.0.0.1:2379`, in order of preference. */
  readonly endpoints: readonly string[]
  readonly tls?: Tls | undefined
  readonly clock: Clock
}

/** The kinds of connections, by their use. */
export type SessionKind = 'calls' | 'streams'

/** An endpoint may take so long to accept a connection before the next one is tried. */
const connectMaxMs = 3000

/** The bytes that etcd may send before we have read them: see channel.ts. */
const windowBytes = 8 * 1024 * 1024

/** etcd ends a connection that pings more often than every 5 s. */
const pingEveryMs = 30_000
const pingMaxMs = 10_000

export class EtcdSessions {
  readonly #members: readonly Member[]
  #failures = 0
  #isClosed = false

  /** Connects when it is first used. Fails with `invalid_request` for an invalid endpoint. */
  constructor({ endpoints, tls, clock }: EtcdSessionsOptions) {
    this.#members = endpoints.map(url => new Member(url, tls, clock))
  }

  /** A connection that is there, if there is one: that of the member which failed longest ago. */
  ready(kind: SessionKind): http2.ClientHttp2Session | undefined {
    return this.#inOrder()[0]?.ready(kind)
  }

  /** A connection. Fails with `source_failed` when no member can be reached. */
  async connect(kind: SessionKind): Promise<http2.ClientHttp2Session> {
    let failure: CacheError | undefined
    for (const member of this.#inOrder()) {
      if (this.#isClosed) break
      try {
        return await member.connect(kind)
      } catch (error) {
        failure = CacheError.from(error, 'source_failed')
        this.#failures++
        member.lastFailure = this.#failures
      }
    }
    throw failure ?? new CacheError('closed', 'the connections to etcd are closed')
  }

  /** Uses other certificates from now on: what is under way ends on its old connection. */
  renew(tls: Tls): void {
    for (const member of this.#members) member.renew(tls)
  }

  close(): void {
    this.#isClosed = true
    for (const member of this.#members) member.close()
  }

  #inOrder(): Member[] {
    return this.#members.toSorted((a, b) => a.lastFailure - b.lastFailure)
  }
}

class Member {
  lastFailure = 0
  readonly #url: string
  readonly #isSecure: boolean
  readonly #authority: string
  readonly #clock: Clock
  #tls: SecureContextOptions
  readonly #sessions = new Map<SessionKind, http2.ClientHttp2Session>()
  /** The sessions that are not over: being opened, in use, or of certificates before these. */
  readonly #all = new Set<http2.ClientHttp2Session>()
  readonly #connecting = new Map<SessionKind, Promise<http2.ClientHttp2Session>>()

  constructor(url: string, tls: Tls | undefined, clock: Clock) {
    this.#clock = clock
    const { address, isSecure } = parseEndpoint(url, tls !== undefined)
    this.#url = url
    this.#isSecure = isSecure
    this.#authority = `${isSecure ? 'https' : 'http'}://${address}`
    this.#tls = contextOf(tls)
  }

  ready(kind: SessionKind): http2.ClientHttp2Session | undefined {
    const session = this.#sessions.get(kind)
    return session === undefined || session.closed || session.destroyed ? undefined : session
  }

  connect(kind: SessionKind): Promise<http2.ClientHttp2Session> {
    const ready = this.ready(kind)
    if (ready !== undefined) return Promise.resolve(ready)
    const coming = this.#connecting.get(kind) ?? this.#open(kind)
    this.#connecting.set(kind, coming)
    return coming
  }

  renew(tls: Tls): void {
    if (!this.#isSecure) return
    this.#tls = contextOf(tls)
    // Streams that are open go on.
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
  }

  close(): void {
    for (const session of this.#all) session.destroy()
  }

  #open(kind: SessionKind): Promise<http2.ClientHttp2Session> {
    return new Promise<http2.ClientHttp2Session>((resolve, reject) => {
      const tls = this.#tls
      const session = http2.connect(this.#authority, {
        ...tls,
        maxSessionMemory: 1024,
        peerMaxConcurrentStreams: 10_000,
        settings: { enablePush: false, initialWindowSize: windowBytes },
      })
      this.#all.add(session)
      const fail = (reason: string): void => {
        session.destroy()
        reject(new CacheError('source_failed', `etcd ${this.#url} cannot be reached: ${reason}`))
      }
      const cancelTimer = this.#clock.setTimer(connectMaxMs, () =>
        fail(`no connection in ${connectMaxMs} ms`),
      )
      session.on('error', error => fail(error.message))
      session.once('close', () => {
        cancelTimer()
        this.#all.delete(session)
        if (this.#sessions.get(kind) === session) this.#sessions.delete(kind)
        fail('the connection was closed')
      })
      // With the settings it is known that this is HTTP/2, and how many streams there may be.
      session.once('remoteSettings', () => {
        cancelTimer()
        if (tls !== this.#tls) {
          resolve(this.#open(kind))
          session.destroy()
          return
        }
        session.setLocalWindowSize(windowBytes)
        this.#sessions.set(kind, session)
        keepAlive(session, this.#clock)
        resolve(session)
      })
    }).finally(() => this.#connecting.delete(kind))
  }
}

function contextOf({ ca, cert, key }: Tls = {}): SecureContextOptions {
  return {
    ...trusting(ca),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  }
}

/** Ends a connection on which a ping is not answered: its streams then end too, and their
 *  clients go elsewhere. */
function keepAlive(session: http2.ClientHttp2Session, clock: Clock): void {
  let cancelTimer: CancelTimer
  const pingLater = (): void => {
    cancelTimer = clock.setTimer(pingEveryMs, () => {
      // It tells that it has ended a moment later.
      if (session.destroyed) return
      cancelTimer = clock.setTimer(pingMaxMs, () => session.destroy())
      session.ping(() => {
        cancelTimer()
        if (!session.destroyed) pingLater()
      })
    })
  }
  pingLater()
  session.once('close', () => cancelTimer())
}
