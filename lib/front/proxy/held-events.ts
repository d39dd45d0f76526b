/** Events that were not compared with the upstream yet. Their watchers wait for a moment: a
 *  comparison takes a few milliseconds. If it takes too long, the watches end cleanly before the
 *  event; their clients watch again, and pass until it is compared. */

import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/keys.ts'
import type { KeyValue } from '../../store/event.ts'
import { InexactEvents } from './inexact-events.ts'

/** The time that a read waits for the mirror. */
const holdMaxMs = 3_000
/** The most events that are waited for at once. */
const heldMax = 10_000

export interface HeldEventsOptions {
  readonly clock: Clock
  /** Makes the watchers of a keyspace check again. */
  readonly resume: (keyspace: Key) => void
}

export class HeldEvents {
  /** Events that were not compared in time. */
  readonly given: InexactEvents = new InexactEvents()
  readonly #options: HeldEventsOptions
  /** The time until which each event is waited for. */
  readonly #untilMs = new Map<KeyValue, number>()

  constructor(options: HeldEventsOptions) {
    this.#options = options
  }

  /** True if watchers may still wait for the event of this entry. */
  hold(keyspace: Key, entry: KeyValue): boolean {
    const { clock, resume } = this.#options
    const nowMs = clock.monotonicMs()
    const untilMs = this.#untilMs.get(entry)
    if (untilMs !== undefined) return nowMs < untilMs
    if (this.#untilMs.size >= heldMax) return false
    this.#untilMs.set(entry, nowMs + holdMaxMs)
    clock.setTimer(holdMaxMs, () => resume(keyspace))
    // Watchers of other forms may reach it a little later.
    clock.setTimer(2 * holdMaxMs, () => this.#untilMs.delete(entry))
    return true
  }

  /** Something was compared in a keyspace. */
  concluded(keyspace: Key): void {
    this.given.forget(keyspace)
    this.#options.resume(keyspace)
  }
}
