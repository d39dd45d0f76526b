/** One open watch: takes frames from the hub and writes them to its client, all that have come in
 *  one write, as fast as the client reads. What it holds is bounded: a client that does not read
 *  falls behind in the history, which costs no memory.
 *
 *  ```
 *           the client must read first             end()
 *    open ─────────────────────────────▶ full    any ──▶ ended
 *         ◀───────────────────────────── drained
 *  ``` */

import type { Revision } from '@watchglass/base'
import type { Hub, Watcher, WatcherSink } from '@watchglass/store'
import type { HeldBytes } from '../limits/fair-share.ts'
import type { ResponseStream } from '../server/http-request.ts'
import type { Outbox, FrameSender } from './outbox.ts'
import type { EventReports } from './watch-reports.ts'
import type { WatchFraming } from './watch-framing.ts'

/** This much may wait for the next write. Beyond it the watcher falls back to the history. Over
 *  HTTP/2 Node encrypts and sends at once what all streams of a connection wait with when its
 *  client reads on: with 64 KB each, a hundred of them held the event loop for 9 to 17 ms, and with
 *  32 KB for 7 to 9, while an event cost at most a twelfth more (bench/million). Over HTTP/1.1,
 *  where each watch has a connection, it would cost a third more (bench/watch, November 2026). */
const pendingMaxBytes = { '1.1': 64 * 1024, '2': 32 * 1024 } as const
/** The bound while the client's buffer is full. Over HTTP/2 all streams of a connection can write
 *  again at the same moment, and then their frames must be ready: otherwise the connection would be
 *  idle while they are made. */
const fullPendingMaxBytes = { '1.1': 0, '2': pendingMaxBytes[2] } as const

/** Ends of a watch: the client left, its time was up, or why we ended it. */
export type WatchEnd = 'client' | 'timeout' | 'expired' | 'inexact' | 'server' | 'fault'

export interface WatchResponseOptions {
  readonly outbox: Outbox
  readonly events?: EventReports | undefined
  /** Counts frames that a client has not taken. */
  readonly held?: HeldBytes | undefined
  /** The frames are compressed: what is written at once is one gzip member. */
  readonly isZipped?: boolean | undefined
}

export class WatchResponse implements WatcherSink, FrameSender {
  readonly request: ResponseStream
  readonly framing: WatchFraming
  readonly isZipped: boolean
  readonly #outbox: Outbox
  readonly #events: EventReports | undefined
  readonly #held: HeldBytes | undefined
  /** Bytes that were written to a client that must read first. */
  #fullBytes = 0
  #hub: Hub | undefined = undefined
  #watcher: Watcher | undefined = undefined
  /** Most often there is one frame, or none. */
  #pending: Uint8Array | Uint8Array[] | undefined = undefined
  #pendingBytes = 0
  #state: 'open' | 'full' | 'ended' = 'open'
  #isFlushDue = false
  #isFirst = true
  #endedAs: WatchEnd = 'client'

  constructor(
    request: ResponseStream,
    framing: WatchFraming,
    { outbox, events, held, isZipped = false }: WatchResponseOptions,
  ) {
    this.request = request
    this.framing = framing
    this.isZipped = isZipped
    this.#outbox = outbox
    this.#events = events
    this.#held = held
  }

  get isOpen(): boolean {
    return this.#state !== 'ended'
  }

  /** End of the watch; of an open one, its end if the client leaves now. */
  get endedAs(): WatchEnd {
    return this.#endedAs
  }

  /** Undefined before it follows a hub. */
  get watcher(): Watcher | undefined {
    return this.#watcher
  }

  /** Connects the watcher of a hub, which writes here from now on. */
  follow(hub: Hub, watcher: Watcher): void {
    this.#hub = hub
    this.#watcher = watcher
  }

  /** Initial events, or the bookmark after them, as they are to be written at once: they do not
   *  wait with the frames of the hub. */
  begin(frames: Uint8Array, events?: number): Uint8Array {
    if (events === undefined) this.#events?.sent(frames.length)
    else this.#events?.sentInitially(events, frames.length)
    const first = this.#isFirst ? this.framing.first(frames) : frames
    this.#isFirst = false
    return first
  }

  write(frame: Uint8Array): boolean {
    if (this.#state === 'ended') return false
    const pending = this.#isFirst ? this.framing.first(frame) : frame
    this.#isFirst = false
    this.#events?.sent(frame.length)
    if (this.#pending === undefined) this.#pending = pending
    else if (Array.isArray(this.#pending)) this.#pending.push(pending)
    else this.#pending = [this.#pending, pending]
    this.#pendingBytes += pending.length
    // All but a single large frame, or two, are within the bounds above.
    if (pending.length > this.#pendingMaxBytes && !this.#mayHold()) return false
    if (this.#state === 'open') this.#wantFlush()
    // A second frame of this size would be too much.
    const fits = this.#pendingBytes + pending.length <= this.#pendingMaxBytes
    if (!fits && this.#state === 'open') this.#outbox.hurry()
    return fits
  }

  /** The history no longer has the watcher's position, or `position` for a watch that has no
   *  watcher yet. */
  expired(oldest: Revision, position: Revision = this.#watcher?.position ?? oldest): void {
    if (this.#state === 'ended') return
    this.write(this.framing.expired(position, oldest))
    this.end('expired')
  }

  /** A client that has a part of a batch would continue behind all of it: it is told to list
   *  again. */
  inexact(revision: Revision, isBegun: boolean): void {
    if (isBegun) this.write(this.framing.expired(this.#watcher?.position ?? revision, revision))
    this.end('inexact')
  }

  /** Writes the waiting frames, and closes the stream cleanly. */
  end(as: WatchEnd = 'server'): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#endedAs = as
    const rest = this.#take()
    if (rest === undefined) this.request.end()
    else this.request.end(rest)
  }

  /** Writes the waiting frames; returns the number of bytes. */
  flush(): number {
    this.#isFlushDue = false
    if (this.#state !== 'open') return 0
    const bytes = this.#take()
    if (bytes !== undefined && !this.request.write(bytes)) {
      this.#state = 'full'
      this.#fullBytes = bytes.length
      this.request.onDrain(() => this.#drained())
    } else this.#held?.release()
    const takesMore = this.#pendingMaxBytes > 0
    if (takesMore && this.#watcher?.state === 'lagging') this.#hub?.resume(this.#watcher)
    return bytes?.length ?? 0
  }

  #drained(): void {
    if (this.#state !== 'full') return
    this.#state = 'open'
    this.#fullBytes = 0
    this.#wantFlush()
    // The limit is reached.
    if (this.#pending !== undefined && this.#watcher?.state === 'lagging') this.#outbox.hurry()
  }

  /** Counts what is held; false if the user holds too much, and the client is cut off. */
  #mayHold(): boolean {
    if (this.#held?.atLeast(this.#fullBytes + this.#pendingBytes) !== false) return true
    this.#state = 'ended'
    this.#endedAs = 'expired'
    this.#pending = undefined
    this.request.abort()
    return false
  }

  #wantFlush(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    this.#outbox.add(this)
  }

  get #pendingMaxBytes(): number {
    const { version } = this.request
    return this.#state === 'full' ? fullPendingMaxBytes[version] : pendingMaxBytes[version]
  }

  /** All waiting frames, as one piece. */
  #take(): Uint8Array | undefined {
    const pending = this.#pending
    this.#pending = undefined
    const count = Array.isArray(pending) ? pending.length : pending === undefined ? 0 : 1
    this.#outbox.count(count, this.#pendingBytes)
    this.#pendingBytes = 0
    if (this.isZipped && pending !== undefined) {
      return this.#outbox.zip(Array.isArray(pending) ? pending : [pending])
    }
    return Array.isArray(pending) ? this.#outbox.join(pending) : pending
  }
}
