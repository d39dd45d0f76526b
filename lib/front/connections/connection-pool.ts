/** The connections to one server of the upstream for one purpose: an idle one is used again, the last used first, so that those that are
 *  not needed grow old; beyond the bound requests wait in a line. */

import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { Rounds } from '../../base/timers.ts'
import { CacheError } from '../../base/errors.ts'
import { ConnectionError, type Passage, UpstreamConnection } from './connection.ts'
import { openSocket } from './socket.ts'
import { UserLines } from './user-lines.ts'

export interface ConnectionPoolOptions {
  readonly url: URL
  /** Authority and certificate. */
  readonly tls: ConnectionOptions
  readonly clock: Clock
  readonly connectionsMax: number
  /** Of these for each user at once. */
  readonly perUserMax: number
  readonly connectMs: number
  /** The timeout until a response begins, and between two pieces of it; 0 is no limit. */
  readonly answerMs: number
  /** How long a connection may be idle, unless the server says less. */
  readonly idleMs: number
}

/** How often connections are checked for timeouts: a timer for each request would cost more. */
const lookMaxMs = 1_000
const lookMinMs = 10
/** Connections are closed this much before the server's keep-alive time ends, because a request may be in flight then. */
const idleMarginMs = 1_000

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  readonly #open = new Set<UpstreamConnection>()
  readonly #idle: UpstreamConnection[] = []
  readonly #connecting = new Map<Passage, Socket>()
  readonly #lines: UserLines<Passage>
  /** Who is on a connection. */
  readonly #users = new Map<UpstreamConnection, string | undefined>()
  /** Looks at all connections while there is one. */
  readonly #looks: Rounds
  /** The TLS session, which makes the next connection cheaper. */
  #session: Buffer | undefined = undefined
  #idleMs: number
  #keepAlive: string | undefined = undefined
  #isClosed = false
  #isRetired = false

  constructor(options: ConnectionPoolOptions) {
    const { answerMs, idleMs } = options
    this.#options = options
    this.#lines = new UserLines(options.perUserMax)
    this.#idleMs = idleMs
    const shortestMs = answerMs === 0 ? idleMs : Math.min(answerMs, idleMs)
    const lookEveryMs = Math.max(lookMinMs, Math.min(lookMaxMs, shortestMs / 4))
    this.#looks = new Rounds(options.clock, lookEveryMs, this.#look)
  }

  /** Sends it as soon as there is a connection, and a turn of its user. */
  dispatch(passage: Passage): void {
    if (this.#isClosed) {
      passage.failed(new CacheError('closed', 'the service ends'))
      return
    }
    const mayTake = this.#lines.mayTake(passage.user)
    let idle = mayTake ? this.#idle.pop() : undefined
    while (idle !== undefined && !idle.isOpen) idle = this.#idle.pop()
    if (idle !== undefined) this.#send(idle, passage)
    else if (mayTake && this.#hasRoom) this.#connect(passage)
    else this.#lines.add(passage)
  }

  /** Cancels a request that was not sent yet. */
  cancel(passage: Passage): void {
    this.#lines.delete(passage)
    const socket = this.#connecting.get(passage)
    if (socket === undefined) return
    this.#connecting.delete(passage)
    this.#lines.give(passage.user)
    socket.destroy()
    this.#next()
  }

  get #hasRoom(): boolean {
    return this.#open.size + this.#connecting.size < this.#options.connectionsMax
  }

  #send(connection: UpstreamConnection, passage: Passage): void {
    this.#lines.take(passage.user)
    this.#users.set(connection, passage.user)
    connection.send(passage)
  }

  /** There is no connection, and nobody waits for one. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#connecting.size === 0 && !this.#lines.isWaiting
  }

  /** Sends no more requests that come: connections are closed as soon as what was given to them is over. */
  retire(): void {
    this.#isRetired = true
    for (const connection of this.#idle.splice(0)) connection.close()
  }

  close(): void {
    this.#isClosed = true
    this.#looks.stop()
    const failure = new CacheError('closed', 'the service ends')
    for (const connection of this.#open) connection.close()
    for (const [passage, socket] of this.#connecting) {
      socket.destroy()
      passage.failed(failure)
    }
    this.#connecting.clear()
    for (const passage of this.#lines.takeAll()) passage.failed(failure)
  }

  #connect(passage: Passage): void {
    const { clock, connectMs, url, tls } = this.#options
    const socket = openSocket({ url, tls, session: this.#session }, connected => {
      cancel()
      socket.off('error', fail)
      socket.off('close', closed)
      if (this.#connecting.delete(passage)) this.#use(connected, passage)
      else socket.destroy()
    })
    this.#connecting.set(passage, socket)
    this.#lines.take(passage.user)
    const cancel = clock.setTimer(connectMs, () =>
      socket.destroy(new ConnectionError('ETIMEDOUT', 'no connection in time')),
    )
    const fail = (error: unknown): void => {
      cancel()
      this.#session = undefined
      if (!this.#connecting.delete(passage)) return
      this.#lines.give(passage.user)
      passage.failed(error)
      this.#next()
    }
    const closed = (): void => fail(new ConnectionError('ECONNRESET', 'the connection was closed'))
    socket.once('error', fail)
    socket.once('close', closed)
    socket.on('session', (session: Buffer) => {
      this.#session = session
    })
  }

  #use(socket: Socket, passage: Passage): void {
    const connection = new UpstreamConnection(socket, this.#options.clock, {
      onFree: free => this.#free(free),
      onGone: gone => this.#gone(gone),
    })
    this.#open.add(connection)
    this.#looks.wake()
    this.#users.set(connection, passage.user)
    connection.send(passage)
  }

  #free(connection: UpstreamConnection): void {
    const { keepAlive } = connection
    if (keepAlive !== undefined && keepAlive !== this.#keepAlive) {
      this.#keepAlive = keepAlive
      this.#idleMs = Math.min(this.#options.idleMs, idleMsOf(keepAlive))
    }
    this.#leave(connection)
    if (this.#isRetired && !this.#lines.isWaiting) connection.close()
    else this.#idle.push(connection)
    this.#next()
  }

  #gone(connection: UpstreamConnection): void {
    this.#open.delete(connection)
    this.#leave(connection)
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    this.#next()
  }

  /** The request on a connection is over. */
  #leave(connection: UpstreamConnection): void {
    if (!this.#users.has(connection)) return
    this.#lines.give(this.#users.get(connection))
    this.#users.delete(connection)
  }

  /** There is a connection, or room for one. */
  #next(): void {
    while (this.#idle.length > 0 || this.#hasRoom) {
      const next = this.#lines.next()
      if (next === undefined) return
      this.dispatch(next)
    }
  }

  readonly #look = (): boolean => {
    const { clock, answerMs } = this.#options
    const nowMs = clock.monotonicMs()
    for (const connection of this.#open) connection.look(nowMs, answerMs, this.#idleMs)
    return this.#open.size > 0
  }
}

/** Of a `Keep-Alive` header. */
function idleMsOf(keepAlive: string): number {
  const seconds = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? Infinity : Math.max(1, Number(seconds) * 1000 - idleMarginMs)
}
