/** All open watches: when each ends, when each is due a bookmark, and their common end. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import type { Key } from '../base/keys.ts'
import type { Random } from '../base/random.ts'
import type { Revision } from '../base/revision.ts'
import type { Selection } from '../watch/audience.ts'
import { Bookmarks } from '../watch/bookmarks.ts'
import type { WatchSource } from './api.ts'
import type { WatchConnection } from './watch-connection.ts'

/** A watch without a time limit of its own gets one between this and twice this, so that clients spread over servers again. */
const timeoutMinMs = 1_800_000

/** Bookmarks are due to the second. */
const tickMs = 1_000

/** How long etcd may take to say how far it is before a bookmark says what is known. */
const refreshMs = 500

export interface WatchesOptions {
  readonly source: WatchSource
  readonly clock: Clock
  readonly random: Random
}

export interface OpenWatch {
  readonly connection: WatchConnection
  readonly keyspace: Key
  readonly selection: Selection
  /** Everything up to here has been sent. */
  readonly position: Revision
  /** undefined or 0: the server decides. */
  readonly timeoutSeconds: number | undefined
  /** Makes a bookmark; undefined if the client wants none. */
  readonly bookmark: ((revision: Revision) => Uint8Array | undefined) | undefined
}

export class Watches {
  readonly source: WatchSource
  readonly #clock: Clock
  readonly #random: Random
  readonly #bookmarks: Bookmarks<OpenWatch>
  readonly #open = new Set<OpenWatch>()
  #isStopping = false
  #cancelTick: CancelTimer | undefined

  constructor({ source, clock, random }: WatchesOptions) {
    this.source = source
    this.#clock = clock
    this.#random = random
    this.#bookmarks = new Bookmarks(random)
  }

  /** How many there are. */
  get size(): number {
    return this.#open.size
  }

  /** Lets a watch follow its keyspace until its time is up, its client leaves, or the server stops. Resolves when it has ended.
   *  Fails with `expired` when the history does not reach back to its position. */
  async follow(watch: OpenWatch): Promise<void> {
    const { connection, keyspace, selection, position } = watch
    const hub = this.source.hub(keyspace)
    const { exchange } = connection
    const closed = new Promise<void>(resolve => exchange.onClose(resolve))
    connection.watcher = hub.add(selection, position, connection)
    const cancelEnd = this.#schedule(watch)
    this.#open.add(watch)
    if (this.#isStopping) connection.end()
    await closed
    this.#open.delete(watch)
    this.#bookmarks.delete(watch)
    cancelEnd()
    hub.delete(connection.watcher)
  }

  /** Ends all watches in order, and those that come later at once. */
  stop(): void {
    this.#isStopping = true
    this.#cancelTick?.()
    for (const { connection } of this.#open) connection.end()
  }

  #schedule(watch: OpenWatch): CancelTimer {
    const { timeoutSeconds = 0, connection, bookmark } = watch
    const timeoutMs =
      timeoutSeconds === 0 ? timeoutMinMs * (1 + this.#random.next()) : timeoutSeconds * 1000
    const nowMs = this.#clock.monotonicMs()
    if (bookmark !== undefined) {
      this.#bookmarks.add(watch, nowMs, nowMs + timeoutMs)
      this.#cancelTick ??= this.#clock.setTimer(tickMs, this.#tick)
    }
    const delayMs = Math.min(Math.max(0, timeoutMs), timerMaxMs)
    return this.#clock.setTimer(delayMs, () => connection.end())
  }

  /** Asks for the progress of every keyspace that a bookmark is due for, once, and sends the bookmarks when it had time to come. */
  readonly #tick = (): void => {
    this.#cancelTick = undefined
    const due = this.#bookmarks.take(this.#clock.monotonicMs())
    for (const keyspace of new Set(due.map(watch => watch.keyspace))) this.source.refresh(keyspace)
    if (due.length > 0) this.#clock.setTimer(refreshMs, () => due.forEach(this.#sendBookmark))
    if (this.#bookmarks.nextMs() !== undefined) {
      this.#cancelTick = this.#clock.setTimer(tickMs, this.#tick)
    }
  }

  /** A watcher that has fallen behind gets none: it has not been sent everything up to any newer revision. */
  readonly #sendBookmark = ({ connection, keyspace, bookmark }: OpenWatch): void => {
    const { watcher } = connection
    if (!connection.isOpen || watcher?.state !== 'live') return
    const proven = this.source.proven(keyspace)
    const frame = bookmark?.(proven > watcher.position ? proven : watcher.position)
    if (frame !== undefined) connection.write(frame)
  }
}

/** Timers take no more. */
const timerMaxMs = 2 ** 31 - 1
