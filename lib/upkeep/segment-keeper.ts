/** Drops encoded objects that have not been used for some minutes. Most of them belong to revisions
 *  that are gone; the others are made again when they are asked for. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { repeat } from '../base/timers.ts'

/** Encoded objects that are kept, by all threads together: enough for those of some hundred
 *  thousand pods. */
export const segmentsMaxBytes: number = 1024 * 1024 * 1024

/** The segments to drop from. */
export interface AgingSegments {
  nextPeriod(kept: number, max: number): void
}

const periodMs = 15_000
/** Five minutes: Kubernetes compacts etcd so often, and pages of older revisions have ended. */
const periodsKept = 20
/** So many are dropped in 2 ms. */
const droppedMax = 20_000

export class SegmentKeeper {
  readonly #segments: AgingSegments
  readonly #clock: Clock
  #cancel: CancelTimer = () => {}

  constructor(segments: AgingSegments, clock: Clock) {
    this.#segments = segments
    this.#clock = clock
  }

  start(): void {
    this.#cancel = repeat(this.#clock, periodMs, () =>
      this.#segments.nextPeriod(periodsKept, droppedMax),
    )
  }

  stop(): void {
    this.#cancel()
  }
}
