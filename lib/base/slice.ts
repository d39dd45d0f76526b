/** Work in slices: our own code looks at the clock every so often, and gives way to whatever else
 *  is due once it has had its time. */

import type { Clock, Place } from './clock.ts'

/** So long work goes on before it gives way: a third of what the event loop may be held for, since
 *  two slices may meet, and what is small comes between them. */
const defaultSliceMs = 3

export type SliceClock = Pick<Clock, 'monotonicMs' | 'yield'>

export class Slice {
  readonly #clock: SliceClock
  readonly #lengthMs: number
  #endMs: number

  constructor(clock: SliceClock, lengthMs: number = defaultSliceMs) {
    this.#clock = clock
    this.#lengthMs = lengthMs
    this.#endMs = clock.monotonicMs() + lengthMs
  }

  /** True once its time is over: whoever works must await `next` then. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  /** Gives way, and begins the next slice: `first` as for `Clock.yield`. */
  async next(place?: Place): Promise<void> {
    await this.#clock.yield(place)
    this.#endMs = this.#clock.monotonicMs() + this.#lengthMs
  }

  /** Takes all steps, and gives way in between. */
  async take<Result>(steps: Steps<Result>): Promise<Result> {
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
      if (this.isOver) await this.next()
    }
  }
}

/** What comes in steps, none of which takes long. */
export type Steps<Result> = Generator<undefined, Result, undefined>

const smallThings = 64
let done = 0

/** True now and then. Who walks through many small things asks at each of them, and yields then: a
 *  step for each would cost more than what is done in it. */
export function isStepDue(): boolean {
  done = (done + 1) % smallThings
  return done === 0
}

/** Takes all steps, and gives way in between. */
export function inSlices<Result>(steps: Steps<Result>, clock: SliceClock): Promise<Result> {
  return new Slice(clock).take(steps)
}

/** Takes all steps at once: for who has only little of what may be much elsewhere. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
