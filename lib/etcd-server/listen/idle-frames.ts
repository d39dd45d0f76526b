/** Frames that carry nothing: PRIORITY, WINDOW_UPDATE, PING, SETTINGS, frames of types that nobody
 *  knows, and those of streams that are refused or gone. nghttp2 reads them before anything of ours
 *  runs, at 5 ms for each megabyte, and says nothing of most. So what a connection sends is
 *  compared with what was made of it, as nginx does: the bytes that are left over have a bound.
 *
 *  ```
 *  idle = read from the socket − headers − bodies − a quarter of what was sent to it
 *  ```
 *
 *  A client acknowledges what it is sent, with 26 bytes for each 4 KiB if it is Go's, and for each
 *  frame if it is careless. */

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { type Clock, Rounds } from '@watchglass/base'

/** Idle bytes that a connection may send at once, and those that it may send in each second
 *  beside them: a thousandth of a processor. */
const idleMaxBytes = 1024 * 1024
const idleBytesPerSecond = 256 * 1024
/** A part of what was sent to the client: it acknowledges that. */
const acknowledged = 1 / 4
/** Beside its name and value, a header takes so many bytes at most; and a stream, for its frames
 *  and those that end it or open its window. */
const headerBytes = 8
const streamBytes = 64

const lookEveryMs = 20
/** Connections that are looked at each time: 0.1 ms. With more of them, they take turns. */
const lookedAtOnce = 500

/** The handle below a socket of Node's. */
interface Handle {
  readonly bytesRead: number
  readonly bytesWritten: number
}

interface Connection {
  readonly session: ServerHttp2Session
  readonly handle: Handle
  /** Bytes that were read at the last look and are accounted for, and those that were sent. */
  read: number
  sent: number
  /** Bytes of requests since then. */
  carried: number
  /** Bodies that are under way. */
  bodies: number
  /** Bytes of bodies that were refused, which may still come. */
  refused: number
  /** Idle bytes that are not forgiven yet. */
  idle: number
  lookedAtMs: number
}

export class IdleFrames {
  readonly #clock: Clock
  readonly #onFlood: (idleBytes: number) => void
  readonly #connections = new Set<Connection>()
  readonly #rounds: Rounds

  /** `onFlood` is told of each connection that was closed for its idle bytes. */
  constructor(clock: Clock, onFlood: (idleBytes: number) => void = () => {}) {
    this.#clock = clock
    this.#onFlood = onFlood
    this.#rounds = new Rounds(clock, lookEveryMs, () => this.#look())
  }

  /** A connection has begun: it is watched over until it ends. Call what is returned with each
   *  stream; undefined for a connection that is closed already. */
  add(
    session: ServerHttp2Session,
  ): ((stream: ServerHttp2Stream, rawHeaders: readonly string[]) => void) | undefined {
    const { _handle: handle } = session.socket as unknown as { readonly _handle: Handle | null }
    if (handle === null || handle === undefined) return undefined
    const one: Connection = {
      session,
      handle,
      read: handle.bytesRead,
      sent: handle.bytesWritten,
      carried: 0,
      bodies: 0,
      refused: 0,
      idle: 0,
      lookedAtMs: this.#clock.monotonicMs(),
    }
    this.#connections.add(one)
    session.once('close', () => this.#connections.delete(one))
    this.#rounds.wake()
    return (stream, rawHeaders) => {
      one.carried += sizeOf(rawHeaders)
      if (!stream.endAfterHeaders) countBody(stream, one)
    }
  }

  stop(): void {
    this.#rounds.stop()
  }

  #look(): boolean {
    const nowMs = this.#clock.monotonicMs()
    let left = Math.min(this.#connections.size, lookedAtOnce)
    for (const one of this.#connections) {
      if (left-- === 0) break
      // The last place is that of those who were looked at last.
      this.#connections.delete(one)
      if (one.session.destroyed) continue
      this.#connections.add(one)
      if (idleOf(one, nowMs) <= idleMaxBytes + waitingMax(one)) continue
      one.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
      this.#onFlood(one.idle)
    }
    return this.#connections.size > 0
  }
}

/** Idle bytes of a connection that are not forgiven now. */
function idleOf(one: Connection, nowMs: number): number {
  const { bytesRead, bytesWritten } = one.handle
  const forgiven = ((nowMs - one.lookedAtMs) / 1_000) * idleBytesPerSecond
  const made = one.carried + (bytesWritten - one.sent) * acknowledged
  const idle = Math.max(0, one.idle + bytesRead - one.read - made - forgiven)
  const expected = Math.min(idle, one.refused)
  one.refused -= expected
  one.idle = idle - expected
  one.read = bytesRead
  one.sent = bytesWritten
  one.carried = 0
  one.lookedAtMs = nowMs
  return one.idle
}

/** Bytes of bodies that may have been read by nghttp2 and by nobody else yet. */
function waitingMax({ session, bodies, idle }: Connection): number {
  return bodies === 0 || idle <= idleMaxBytes ? 0 : windowOf(session)
}

function windowOf({ state }: ServerHttp2Session): number {
  return state.effectiveLocalWindowSize ?? 0
}

function sizeOf(rawHeaders: readonly string[]): number {
  let bytes = streamBytes + (rawHeaders.length / 2) * headerBytes
  for (const text of rawHeaders) bytes += text.length
  return bytes
}

/** Counts a body as it comes, whoever reads it. The rest of one that was refused is under way by
 *  then: all that the client's window had room for. */
function countBody(stream: ServerHttp2Stream, one: Connection): void {
  const push = stream.push.bind(stream)
  let hasEnded = false
  stream.push = (chunk: Uint8Array | null, encoding?: BufferEncoding) => {
    // A stream that was closed has an end, too.
    if (chunk === null) hasEnded ||= !stream.closed
    else one.carried += chunk.length
    return push(chunk, encoding)
  }
  one.bodies++
  stream.once('close', () => {
    one.bodies--
    const { session } = one
    if (hasEnded || session.destroyed) return
    const refused = one.refused + (session.localSettings.initialWindowSize ?? 0)
    one.refused = Math.min(refused, windowOf(session))
  })
}
