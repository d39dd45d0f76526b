/** Events of watches that were not compared with the upstream yet. Their watchers wait before them, for a moment: a comparison takes a
 *  few milliseconds. What is not compared by then ends its watches cleanly before it; they come again, and pass until it is. */

import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/keys.ts'
import type { KeyValue } from '../../store/event.ts'
import { InexactEvents } from '../api/inexact.ts'

/** As long as a read waits for the mirror. */
const holdMaxMs = 3_000
/** More at once are not waited for. */
const heldMax = 10_000

export interface HeldEventsOptions {
  readonly clock: Clock
  /** Has the watchers of a keyspace ask again. */
  readonly resume: (keyspace: Key) => void
}

export class HeldEvents {
  /** What was waited for in vain. */
  readonly given: InexactEvents = new InexactEvents()
  readonly #options: HeldEventsOptions
  /** Until when an event is waited for. */
  readonly #untilMs = new Map<KeyValue, number>()

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** True if the event that an entry is of may be waited for still. */
  hold(keyspace: Key, entry: KeyValue): boolean {
    const { clock, resume } = this.#options
    const nowMs = clock.monotonicMs()
    const untilMs = this.#untilMs.get(entry)
    if (untilMs !== undefined) return nowMs < untilMs
    if (this.#untilMs.size >= heldMax) return false
    this.#untilMs.set(entry, nowMs + holdMaxMs)
    clock.setTimer(holdMaxMs, () => resume(keyspace))
    // Watchers of other forms may come to it a little later.
    clock.setTimer(2 * holdMaxMs, () => this.#untilMs.delete(entry))
    return true
  }

  /** Something was compared in a keyspace. */
  concluded(keyspace: Key): void {
    this.given.forget(keyspace)
    this.#options.resume(keyspace)
  }
}
