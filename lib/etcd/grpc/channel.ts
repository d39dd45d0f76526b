/** Calls to one etcd member on a connection that is made when it is needed, and anew when it is
 *  lost. Messages are bytes: to make an object for every field costs as much as the transfer
 *  (CHANGELOG.md has the figures). */

import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely, type SecureContext } from 'node:tls'
import { CacheError } from '@watchglass/base'
import { headerField, pseudoField } from '../http2/hpack/encoder.ts'
import { grpcStatus } from '../proto/failures.ts'
import type { Call, CallSink, CallStatus } from './call.ts'
import { Connection } from './connection.ts'
import { failureFromStatus, unreachable } from './failures.ts'

/** After a failure the next connection is tried no sooner, and twice as late after each, up to the
 *  most. */
const pauseMs = 100
const pauseMostMs = 1000
/** A call that is given up after so long without a word casts doubt on its connection. */
const slowMs = 1000
/** Header blocks that are kept. */
const blocksMax = 50

export interface Member {
  /** As it was given. */
  readonly url: string
  /** Such as `10.0.0.1:2379`, or `[::1]:2379`. */
  readonly address: string
  /** Undefined without TLS. */
  readonly tls: SecureContext | undefined
  /** Called for each connection that was made. */
  readonly onConnected: () => void
}

export interface CallOptions {
  readonly token: string | undefined
  /** A member that knows no leader refuses the call at once, or ends the stream when it loses its
   *  leader, so that another can be tried. */
  readonly needsLeader: boolean
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export class Channel {
  /** Nothing came for too long. The connection may be dead without anybody having said so, which
   *  pings would find out only within 40 s, so it is better to make a new one. */
  isSuspect = false
  readonly #member: Member
  readonly #connections = new Set<Connection>()
  readonly #blocks = new Map<string, string>()
  #connection: Connection | undefined = undefined
  #connecting: Promise<void> | undefined = undefined
  #pauseMs = pauseMs
  #failed: { readonly failure: CacheError; readonly untilMs: number } | undefined = undefined
  #isGivenUp = false
  #isClosed = false

  /** No connection is made yet. */
  constructor(member: Member) {
    this.#member = member
  }

  get isConnected(): boolean {
    return this.#connection?.hasRoom === true
  }

  /** Resolves once there is a connection, and fails as soon as an attempt to make one has failed.
   *  Until then nothing has been sent, so that any call may still go elsewhere. */
  async connect(timeoutMs: number): Promise<void> {
    if (this.isConnected) return
    this.#connecting ??= this.#connect(timeoutMs).finally(() => {
      this.#connecting = undefined
    })
    await this.#connecting
  }

  /** One message there, one back, whose bytes may be those that the socket was read with. */
  async call(path: string, request: Buffer, options: CallOptions): Promise<Buffer> {
    const answer = await this.#callOnce(path, request, options)
    const isUnsent = !Buffer.isBuffer(answer) && answer.isUnsent === true
    const last = isUnsent ? await this.#callOnce(path, request, options) : answer
    if (Buffer.isBuffer(last)) return last
    throw this.#isClosed || options.signal?.aborted === true
      ? this.#cancelled()
      : failureFromStatus(last, this.#member.url)
  }

  /** One message there, any number back. Fails when none comes for `timeoutMs` while one is waited
   *  for. */
  async *parts(
    path: string,
    request: Buffer,
    options: CallOptions,
  ): AsyncGenerator<Buffer, void, undefined> {
    const { timeoutMs, signal } = options
    const came: Buffer[] = []
    let status: CallStatus | undefined
    let wake = (): void => {}
    const sink: CallSink = {
      message(bytes) {
        came.push(bytes)
        call.hold(true)
        wake()
      },
      ended(how) {
        status = how
        wake()
      },
    }
    const call = await this.#open(path, request, { options, sink, isShort: true })
    const abort = (): void => sink.ended(cancelledStatus)
    const late = (): void => {
      this.isSuspect = true
      sink.ended(tooLate)
    }
    signal?.addEventListener('abort', abort, { once: true })
    try {
      for (;;) {
        call.hold(false)
        if (came.length === 0 && status === undefined) {
          const timer = setTimeout(late, timeoutMs)
          await new Promise<void>(resolve => (wake = resolve))
          clearTimeout(timer)
        }
        const message = came.shift()
        if (message !== undefined && !isAborted(signal)) yield message
        else if (this.#isClosed || isAborted(signal)) throw this.#cancelled()
        else if (status?.code === 0) return
        else throw failureFromStatus(status ?? cancelledStatus, this.#member.url)
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      call.cancel()
    }
  }

  /** Opens a stream with its first message. */
  stream(path: string, first: Buffer, options: CallOptions, sink: CallSink): Promise<Call> {
    return this.#open(path, first, { options, sink, isShort: false })
  }

  /** True when no call waits for an answer. */
  get isIdle(): boolean {
    return [...this.#connections].every(({ callCount }) => callCount === 0)
  }

  /** Takes no more calls, and closes the connection when the last call and the last stream have
   *  ended. */
  giveUp(): void {
    this.#isGivenUp = true
    for (const connection of this.#connections) connection.end('it is given up')
  }

  /** Cancels all calls. */
  close(): void {
    this.#isClosed = true
    this.giveUp()
    for (const connection of this.#connections) connection.destroy('the client is closed')
  }

  #callOnce(path: string, request: Buffer, options: CallOptions): Promise<Buffer | CallStatus> {
    const { signal } = options
    const beganMs = performance.now()
    return new Promise((resolve, reject) => {
      let call: Call | undefined
      let answer: Buffer | undefined
      const abort = (): void => {
        this.isSuspect ||= performance.now() - beganMs > slowMs
        call?.cancel()
        sink.ended(cancelledStatus)
      }
      const sink: CallSink = {
        message(bytes) {
          if (answer !== undefined) call?.cancel()
          if (answer !== undefined) sink.ended(twoAnswers)
          answer = bytes
        },
        ended: status => {
          signal?.removeEventListener('abort', abort)
          this.isSuspect ||= status.code === grpcStatus.deadlineExceeded
          resolve(status.code === 0 ? (answer ?? noAnswer) : status)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      const { timeoutMs } = options
      const deadlineMs = beganMs + timeoutMs
      const open = { options, sink, isShort: true, deadlineMs }
      const connection = this.#connection
      if (isAborted(signal)) abort()
      else if (connection?.hasRoom === true) {
        call = this.#openOn(connection, path, request, open)
      } else {
        this.#open(path, request, open).then(
          opened => {
            call = opened
            if (isAborted(signal)) call.cancel()
          },
          (error: unknown) => {
            signal?.removeEventListener('abort', abort)
            reject(error as Error)
          },
        )
      }
    })
  }

  async #open(path: string, message: Buffer, opening: Opening): Promise<Call> {
    if (isAborted(opening.options.signal)) throw this.#cancelled()
    await this.connect(opening.options.timeoutMs)
    const connection = this.#connection
    if (connection === undefined) throw unreachable('Connection dropped', this.#member.url)
    return this.#openOn(connection, path, message, opening)
  }

  #openOn(connection: Connection, path: string, message: Buffer, opening: Opening): Call {
    const { options, sink, isShort, deadlineMs = Infinity } = opening
    const block = this.#blockOf(path, options, deadlineMs !== Infinity)
    return connection.open({ block, message, isShort, deadlineMs }, sink)
  }

  /** Headers are the same from one call to the next. */
  #blockOf(
    path: string,
    { token, needsLeader, timeoutMs }: CallOptions,
    hasDeadline: boolean,
  ): string {
    const of = `${path} ${needsLeader} ${hasDeadline ? timeoutMs : ''} ${token ?? ''}`
    const known = this.#blocks.get(of)
    if (known !== undefined) return known
    const { address, tls } = this.#member
    const block = [
      pseudoField(':method', 'POST'),
      pseudoField(':scheme', tls === undefined ? 'http' : 'https'),
      pseudoField(':path', path),
      pseudoField(':authority', address),
      headerField('te', 'trailers'),
      headerField('content-type', 'application/grpc'),
      headerField('user-agent', 'watchglass'),
      hasDeadline ? headerField('grpc-timeout', `${Math.ceil(timeoutMs)}m`) : '',
      token === undefined ? '' : headerField('token', token),
      needsLeader ? headerField('hasleader', 'true') : '',
    ].join('')
    if (this.#blocks.size >= blocksMax) this.#blocks.clear()
    this.#blocks.set(of, block)
    return block
  }

  async #connect(timeoutMs: number): Promise<void> {
    if (this.#isClosed) throw this.#cancelled()
    // What was about to be sent on it may go elsewhere.
    if (this.#isGivenUp) throw unreachable('the connection was given up', this.#member.url)
    // One that takes no more calls now, for it has as many as it may have, goes on with those.
    this.#connection?.end('it has as many calls as it takes')
    if (this.#failed !== undefined && performance.now() < this.#failed.untilMs) {
      throw this.#failed.failure
    }
    try {
      await this.#ready(timeoutMs)
      this.#failed = undefined
      this.#pauseMs = pauseMs
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      this.#failed = { failure, untilMs: performance.now() + this.#pauseMs }
      this.#pauseMs = Math.min(pauseMostMs, 2 * this.#pauseMs)
      throw failure
    }
  }

  #ready(timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => connection.destroy('no connection in time'), timeoutMs)
      const connection = new Connection(socketTo(this.#member), {
        nowMs: () => performance.now(),
        onReady: () => {
          clearTimeout(late)
          this.#connection = connection
          this.#member.onConnected()
          resolve()
        },
        onEnd: reason => {
          clearTimeout(late)
          if (this.#connection === connection) this.#connection = undefined
          reject(this.#isClosed ? this.#cancelled() : unreachable(reason, this.#member.url))
        },
        onClosed: () => this.#connections.delete(connection),
      })
      this.#connections.add(connection)
    })
  }

  #cancelled(): CacheError {
    return new CacheError('closed', `the call to etcd ${this.#member.url} was cancelled`)
  }
}

interface Opening {
  readonly options: CallOptions
  readonly sink: CallSink
  readonly isShort: boolean
  /** The server is told, too. */
  readonly deadlineMs?: number
}

const noAnswer = { code: grpcStatus.unavailable, details: 'answered nothing' }
const twoAnswers = { code: grpcStatus.internal, details: 'answered more than once' }
const tooLate = { code: grpcStatus.deadlineExceeded, details: 'nothing more has come' }
const cancelledStatus = { code: grpcStatus.canceled, details: 'cancelled' }

/** Asked again: it may have been aborted meanwhile. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

function socketTo({ address, tls }: Member): Socket {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  const where = { host, port: Number(address.slice(colon + 1)) }
  if (tls === undefined) return connect(where)
  const servername = isIP(host) === 0 ? host : ''
  const socket = connectSecurely({
    ...where,
    secureContext: tls,
    servername,
    ALPNProtocols: ['h2'],
  })
  return socket.once('secureConnect', () => {
    if (socket.alpnProtocol !== 'h2') socket.destroy(new Error('Protocol error'))
  })
}
