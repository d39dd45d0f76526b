/** One answer of the upstream, for several clients that read it at their own pace.
 *
 *  A piece is kept until all have taken it, once for all of them: whoever is slow holds nobody up,
 *  and costs the bytes that it is behind, not those times the clients. The bytes kept are bounded:
 *
 *  ```
 *            oldest piece kept                          newest piece
 *     ────────────▼───────────────────────────────────────▼
 *                 slowest client          fastest client  │◀── upstream
 *                 ◀────── at most keptMaxBytes ──────────▶
 *  ```
 *
 *  At the bound the upstream is paused, as for a client alone; for `patienceMs` in all, after which
 *  those furthest behind are cut off, if somebody waits for them. The upstream is paused as well
 *  while nobody has taken what has come. Clients are served in slices: five hundred writes of a
 *  piece take longer than the event loop may be held. */

import type { IncomingHttpHeaders } from 'node:http'
import { CacheError, type CancelTimer, type Clock, Slice } from '@watchglass/base'
import type { ForwardControl, ForwardSink } from '../upstream/upstream.ts'

/** Lists above this are rare; of a smaller one all clients read all at their pace. */
const keptMaxBytes = 64 * 1024 * 1024
/** An answer may keep this much whatever others keep, so that it always gets on. */
const keptMinBytes = 256 * 1024
/** Bytes that have come and nobody has taken: twice what a relay writes ahead. */
const aheadMaxBytes = 256 * 1024
/** Given to one client before it is another's turn. */
const turnMaxBytes = 64 * 1024
/** The cost of keeping a piece, beside its bytes. */
const pieceBytes = 256
/** The time for which an answer waits for those furthest behind, from its beginning to its end. */
const patienceMs = 10_000
const sliceMs = 2

/** The bytes that all shared answers keep, which they bound together. */
export interface SharedAnswerBytes {
  bytes: number
  readonly max: number
}

interface Reader {
  readonly sink: ForwardSink
  hasStarted: boolean
  /** The number of the next piece, counted from the first of the answer. */
  next: number
  /** The bytes of the pieces before it. */
  taken: number
  /** Takes no more until `resume`. */
  isFull: boolean
}

type Ending = { readonly trailers: IncomingHttpHeaders } | { readonly failure: Error }

const nothing = (): void => {}

export class SharedAnswer implements ForwardSink {
  /** The question to the upstream; set before it is asked. */
  control: ForwardControl | undefined = undefined
  readonly #clock: Clock
  readonly #held: SharedAnswerBytes
  readonly #readers = new Set<Reader>()
  /** Readers for whom there is something, in the order of their turns. */
  readonly #due = new Set<Reader>()
  /** Readers who have everything that has come, and can take more. */
  readonly #waiting = new Set<Reader>()
  #head: { readonly code: number; readonly headers: IncomingHttpHeaders } | undefined = undefined
  /** Pieces that somebody has not taken. Their numbers begin with `#first`. */
  #pieces: Uint8Array[] = []
  #first = 0
  #keptBytes = 0
  /** Bytes of all pieces that have come. */
  #cameBytes = 0
  #ending: Ending | undefined = undefined
  #isDelivering = false
  #isPaused = false
  #patienceLeftMs = patienceMs
  #heldUpSinceMs: number | undefined = undefined
  #cancelCut: CancelTimer = nothing

  constructor(clock: Clock, held: SharedAnswerBytes) {
    this.#clock = clock
    this.#held = held
  }

  /** Adds a client; before the upstream is asked. */
  join(sink: ForwardSink): ForwardControl {
    const reader: Reader = { sink, hasStarted: false, next: 0, taken: 0, isFull: false }
    this.#readers.add(reader)
    this.#waiting.add(reader)
    return { resume: () => this.#resume(reader), abort: () => this.#leave(reader) }
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#head = { code, headers }
    this.#wake()
  }

  data(piece: Uint8Array): boolean {
    // The last reader may have left within this call of the upstream's.
    if (this.#readers.size === 0) return true
    this.#pieces.push(piece)
    this.#cameBytes += piece.length
    this.#keep(piece.length + pieceBytes)
    this.#wake()
    return !this.#isPaused
  }

  ended(trailers: IncomingHttpHeaders): void {
    this.#end({ trailers })
  }

  failed(failure: Error): void {
    this.#end({ failure })
  }

  #end(ending: Ending): void {
    this.#ending ??= ending
    // Also who takes no more learns of the end, as from the upstream itself.
    if ('failure' in ending) for (const reader of this.#readers) this.#due.add(reader)
    this.#wake()
  }

  #wake(): void {
    for (const reader of this.#waiting) this.#due.add(reader)
    this.#waiting.clear()
    if (this.#isDelivering) this.#regulate()
    else void this.#deliver()
  }

  #resume(reader: Reader): void {
    if (!this.#readers.has(reader) || !reader.isFull) return
    reader.isFull = false
    this.#waiting.add(reader)
    this.#wake()
  }

  async #deliver(): Promise<void> {
    this.#isDelivering = true
    const slice = new Slice(this.#clock, sliceMs)
    for (const reader of this.#due) {
      this.#due.delete(reader)
      this.#serve(reader)
      if (!slice.isOver || this.#due.size === 0) continue
      this.#regulate()
      await slice.next()
    }
    this.#isDelivering = false
    this.#regulate()
  }

  /** One turn of a client. A small answer is told in one, so that it is written at once. */
  #serve(reader: Reader): void {
    const { sink } = reader
    if (this.#ending !== undefined && 'failure' in this.#ending) {
      this.#forget(reader)
      sink.failed(this.#ending.failure)
      return
    }
    if (!reader.hasStarted && this.#head !== undefined) {
      reader.hasStarted = true
      sink.started(this.#head.code, this.#head.headers)
    }
    const endBytes = reader.taken + turnMaxBytes
    while (!reader.isFull && reader.taken < endBytes && this.#readers.has(reader)) {
      const piece = this.#pieces[reader.next - this.#first]
      if (piece === undefined) break
      reader.next++
      reader.taken += piece.length
      reader.isFull = !sink.data(piece)
    }
    if (!this.#readers.has(reader)) return
    const hasAll = reader.next === this.#first + this.#pieces.length
    if (hasAll && this.#ending !== undefined) {
      this.#forget(reader)
      sink.ended(this.#ending.trailers)
    } else if (!reader.isFull) {
      if (hasAll) this.#waiting.add(reader)
      else this.#due.add(reader)
    }
  }

  /** A client wants no more of it. With the last one the question ends. */
  #leave(reader: Reader): void {
    if (!this.#readers.has(reader)) return
    this.#forget(reader)
    if (this.#readers.size === 0 && this.#ending === undefined) this.control?.abort()
    this.#regulate()
  }

  #forget(reader: Reader): void {
    this.#readers.delete(reader)
    this.#due.delete(reader)
    this.#waiting.delete(reader)
  }

  /** Drops what all have taken, and pauses or resumes the upstream. */
  #regulate(): void {
    const taken = this.#trim()
    const isFull = this.#isFull
    const isHeldUp = isFull && this.#waiting.size > 0 && this.#ending === undefined
    if (isHeldUp) this.#awaitSlowest()
    else this.#stopAwaiting()
    const mayCome = !isFull && this.#cameBytes - taken < aheadMaxBytes
    if (mayCome && this.#isPaused) {
      this.#isPaused = false
      if (this.#ending === undefined && this.#readers.size > 0) this.control?.resume()
    } else if (!mayCome) this.#isPaused = true
  }

  /** Returns the bytes that the fastest has taken. */
  #trim(): number {
    let next = this.#first + this.#pieces.length
    let taken = this.#readers.size === 0 ? this.#cameBytes : 0
    for (const reader of this.#readers) {
      next = Math.min(next, reader.next)
      taken = Math.max(taken, reader.taken)
    }
    const dropped = this.#pieces.splice(0, next - this.#first)
    this.#first = next
    let bytes = 0
    for (const piece of dropped) bytes += piece.length + pieceBytes
    this.#keep(-bytes)
    return taken
  }

  #keep(bytes: number): void {
    this.#keptBytes += bytes
    this.#held.bytes += bytes
  }

  get #keptMax(): number {
    return this.#held.bytes > this.#held.max ? keptMinBytes : keptMaxBytes
  }

  get #isFull(): boolean {
    return this.#keptBytes > this.#keptMax
  }

  #awaitSlowest(): void {
    if (this.#heldUpSinceMs !== undefined) return
    this.#heldUpSinceMs = this.#clock.monotonicMs()
    this.#cancelCut = this.#clock.setTimer(this.#patienceLeftMs, () => this.#cutSlowest())
  }

  #stopAwaiting(): void {
    if (this.#heldUpSinceMs === undefined) return
    this.#cancelCut()
    const heldUpMs = this.#clock.monotonicMs() - this.#heldUpSinceMs
    this.#patienceLeftMs = Math.max(0, this.#patienceLeftMs - heldUpMs)
    this.#heldUpSinceMs = undefined
  }

  /** Cuts off those furthest behind, until half of the bound is kept. */
  #cutSlowest(): void {
    this.#stopAwaiting()
    const max = this.#keptMax / 2
    const slowestFirst = [...this.#readers].sort((a, b) => a.next - b.next)
    for (const reader of slowestFirst) {
      this.#trim()
      if (this.#keptBytes <= max) break
      this.#forget(reader)
      reader.sink.failed(new CacheError('overloaded', tooSlow))
    }
    this.#regulate()
  }
}

const tooSlow = 'the client reads an answer that others wait for too slowly'
