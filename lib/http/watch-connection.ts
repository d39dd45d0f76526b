/** One open watch: takes frames from the hub and writes them to its client, once a turn of the event loop, as fast as the client
 *  reads. What it holds is bounded: a client that does not read falls behind in the history, at no cost. */

import type { Revision } from '../base/revision.ts'
import { unreachable } from '../base/assert.ts'
import type { Watcher, WatcherSink } from '../watch/watcher.ts'
import type { Exchange } from './exchange.ts'

/** So much may wait for the next write. Beyond it the watcher waits in the history. */
const pendingMaxBytes = 64 * 1024

export interface WatchConnectionOptions {
  readonly exchange: Exchange
  /** Makes the first frame of the watch from one that all watchers share. */
  readonly first: (frame: Uint8Array) => Uint8Array
  /** The frame that says that history has moved on, whose oldest revision is given. */
  readonly expiredFrame: (oldest: Revision) => Uint8Array
  /** The client takes more. */
  readonly onRoom: (connection: WatchConnection) => void
}

export class WatchConnection implements WatcherSink {
  readonly exchange: Exchange
  /** Set once the watch follows the hub. */
  watcher: Watcher | undefined = undefined
  readonly #options: WatchConnectionOptions
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  #state: 'open' | 'full' | 'ended' = 'open'
  #isFlushDue = false
  #isFirst = true

  constructor(options: WatchConnectionOptions) {
    this.exchange = options.exchange
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#state !== 'ended'
  }

  write(frame: Uint8Array): boolean {
    this.#pending.push(this.#isFirst ? this.#options.first(frame) : frame)
    this.#isFirst = false
    this.#pendingBytes += frame.length
    if (!this.#isFlushDue) {
      this.#isFlushDue = true
      queueMicrotask(this.#flush)
    }
    return this.#state === 'open' && this.#pendingBytes < pendingMaxBytes
  }

  /** What was sent before the hub took over: the first frame has gone. */
  begun(): void {
    this.#isFirst = false
  }

  get isFirst(): boolean {
    return this.#isFirst
  }

  expired(oldest: Revision): void {
    this.#pending.push(this.#options.expiredFrame(oldest))
    this.end()
  }

  inexact(): void {
    this.end()
  }

  /** Writes what waits, and closes the stream in order. */
  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    const rest = this.#take()
    if (rest === undefined) this.exchange.end()
    else this.exchange.end(rest)
  }

  readonly #flush = (): void => {
    this.#isFlushDue = false
    switch (this.#state) {
      case 'ended':
      case 'full':
        return
      case 'open': {
        const bytes = this.#take()
        if (bytes !== undefined && !this.exchange.write(bytes)) {
          this.#state = 'full'
          this.exchange.onDrain(this.#drained)
        } else {
          this.#options.onRoom(this)
        }
        return
      }
      default:
        unreachable(this.#state)
    }
  }

  readonly #drained = (): void => {
    if (this.#state !== 'full') return
    this.#state = 'open'
    this.#flush()
  }

  /** All that waits, as one piece. */
  #take(): Uint8Array | undefined {
    const pending = this.#pending
    this.#pending = []
    this.#pendingBytes = 0
    return pending.length <= 1 ? pending[0] : Buffer.concat(pending)
  }
}
