/** Short calls to a member on a connection that is made for them beside its channels, and anew when
 *  it is lost. Nobody waits for that: until there is one, callers use a channel. */

import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely, type SecureContextOptions } from 'node:tls'
import { CacheError } from '../../base/errors.ts'
import { headerField, pseudoField } from '../../wire/http2/hpack/encoder.ts'
import { QuickConnection } from './quick-connection.ts'

/** After a failure the next connection is tried no sooner. */
const pauseMs = 1000
/** A connection that takes longer is given up. */
const connectMs = 5000
/** A call that is given up after so long without a word casts doubt on its connection. */
const slowMs = 1000

export interface QuickMember {
  /** As it was given. */
  readonly url: string
  /** Such as `10.0.0.1:2379`, or `[::1]:2379`. */
  readonly address: string
  /** Undefined without TLS. */
  readonly tls: SecureContextOptions | undefined
}

export interface QuickCall {
  readonly path: string
  readonly message: Buffer
  readonly token: string | undefined
  /** A member without a leader refuses it at once. */
  readonly needsLeader: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

export class QuickCalls {
  readonly #member: QuickMember
  #connection: QuickConnection | undefined = undefined
  /** A connection that is being made. */
  #coming: Socket | undefined = undefined
  #notBeforeMs = 0
  #isGivenUp = false
  #isClosed = false
  #block: { readonly of: string; readonly text: string } | undefined = undefined

  constructor(member: QuickMember) {
    this.#member = member
  }

  /** The answer; undefined at once if there is no connection, and later if what came is no ordinary
   *  answer: the caller may ask on a channel. */
  call(call: QuickCall): Promise<Buffer | undefined> | undefined {
    const connection = this.#connection
    if (connection === undefined || !connection.canSend(5 + call.message.length)) {
      this.#connect()
      return undefined
    }
    const { signal, timeoutMs, message } = call
    if (signal?.aborted === true) return Promise.reject(this.#cancelled())
    return new Promise((resolve, reject) => {
      const beganMs = performance.now()
      const block = this.#blockOf(call)
      const stream = connection.call(
        { block, message, deadlineMs: beganMs + timeoutMs },
        answer => {
          signal?.removeEventListener('abort', abort)
          if (answer === 'late') reject(this.#late())
          else if (this.#isClosed) reject(this.#cancelled())
          else resolve(answer === 'unknown' ? undefined : answer)
        },
      )
      const abort = (): void => {
        connection.giveUp(stream)
        if (performance.now() - beganMs > slowMs) connection.destroy()
        reject(this.#cancelled())
      }
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Makes no more calls. Those under way have no answer. */
  giveUp(): void {
    this.#isGivenUp = true
    this.#coming?.destroy()
    this.#connection?.destroy()
  }

  /** The same, and calls under way are cancelled. */
  close(): void {
    this.#isClosed = true
    this.giveUp()
  }

  #connect(): void {
    if (this.#isGivenUp || this.#connection !== undefined || this.#coming !== undefined) return
    const nowMs = performance.now()
    if (nowMs < this.#notBeforeMs) return
    this.#notBeforeMs = nowMs + pauseMs
    const { tls } = this.#member
    const where = whereOf(this.#member.address)
    const servername = isIP(where.host) === 0 ? where.host : ''
    const socket =
      tls === undefined
        ? connect(where)
        : connectSecurely({ ...tls, ...where, servername, ALPNProtocols: ['h2'] })
    this.#coming = socket
    socket.setTimeout(connectMs, () => socket.destroy())
    // Why there is none is for a channel to say.
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#coming === socket) this.#coming = undefined
    })
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => this.#open(socket))
  }

  #open(socket: Socket): void {
    this.#coming = undefined
    socket.setTimeout(0)
    socket.setKeepAlive(true, 30_000)
    const connection = new QuickConnection(socket, {
      nowMs: () => performance.now(),
      onEnd: () => {
        if (this.#connection === connection) this.#connection = undefined
      },
    })
    this.#connection = connection
  }

  /** Headers are the same from one call to the next. */
  #blockOf({ path, token, needsLeader, timeoutMs }: QuickCall): string {
    const of = `${path} ${needsLeader} ${timeoutMs} ${token ?? ''}`
    if (this.#block?.of === of) return this.#block.text
    const { address, tls } = this.#member
    const text = [
      pseudoField(':method', 'POST'),
      pseudoField(':scheme', tls === undefined ? 'http' : 'https'),
      pseudoField(':path', path),
      pseudoField(':authority', address),
      headerField('te', 'trailers'),
      headerField('content-type', 'application/grpc'),
      headerField('user-agent', 'watchglass'),
      headerField('grpc-timeout', `${Math.ceil(timeoutMs)}m`),
      token === undefined ? '' : headerField('token', token),
      needsLeader ? headerField('hasleader', 'true') : '',
    ].join('')
    this.#block = { of, text }
    return text
  }

  #cancelled(): CacheError {
    return new CacheError('closed', `the call to etcd ${this.#member.url} was cancelled`)
  }

  #late(): CacheError {
    return new CacheError('source_failed', `etcd ${this.#member.url}: Deadline exceeded`)
  }
}

function whereOf(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  return { host, port: Number(address.slice(colon + 1)) }
}
