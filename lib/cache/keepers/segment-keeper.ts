/** Drops encoded objects that have not been used for some minutes. Most of them belong to revisions
 *  that are gone; the others are made again when they are asked for.
 *
 *  Minutes are long where objects change while they are listed: each change makes the segment of
 *  its leaf anew, in each encoding, and five megabytes of objects had a hundred of segments. So
 *  there are at most as many as the objects of now may need. */

import { type CancelTimer, type Clock, repeat } from '@watchglass/base'

/** Encoded objects that are kept, by all threads together: enough for those of some hundred
 *  thousand pods. */
export const segmentsMaxBytes: number = 1024 * 1024 * 1024

/** The segments to drop from. */
export interface AgingSegments {
  nextPeriod(kept: number, max: number): void
  readonly maxBytes: number
  limitTo(bytes: number): void
}

const periodMs = 15_000
/** Five minutes: Kubernetes compacts etcd so often, and pages of older revisions have ended. */
const periodsKept = 20
/** The most segments that are dropped at once, which takes 2 ms. */
const droppedMax = 20_000
/** Two forms of everything: JSON, which takes 1.4 times the bytes that are stored, for people and
 *  scripts, and protobuf for controllers. Each more form of 10,000 pods that is asked for in turns
 *  would be 30 to 80 MB more, and takes 0.1 to 0.3 s to make anew. */
const encodings = 2.5
/** For selections and pretty texts in small clusters. */
const leastBytes = 16 * 1024 * 1024
const limitPeriodMs = 1_000
/** The budget sinks to no less than this part of it at once, to half of it in 15 s: contents that
 *  are read anew count as none until they are counted. */
const sinks = 0.95

export class SegmentKeeper {
  readonly #segments: AgingSegments
  readonly #clock: Clock
  readonly #contentBytes: () => number
  #cancel: CancelTimer = () => {}

  /** `contentBytes`: those of all objects as they are stored. */
  constructor(segments: AgingSegments, clock: Clock, contentBytes: () => number) {
    this.#segments = segments
    this.#clock = clock
    this.#contentBytes = contentBytes
  }

  start(): void {
    const needed = (): number => leastBytes + encodings * this.#contentBytes()
    this.#segments.limitTo(needed())
    const cancelLimits = repeat(this.#clock, limitPeriodMs, () =>
      this.#segments.limitTo(Math.max(needed(), sinks * this.#segments.maxBytes)),
    )
    const cancelPeriods = repeat(this.#clock, periodMs, () =>
      this.#segments.nextPeriod(periodsKept, droppedMax),
    )
    this.#cancel = () => {
      cancelLimits()
      cancelPeriods()
    }
  }

  stop(): void {
    this.#cancel()
  }
}
