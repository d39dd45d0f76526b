/** Work in slices: our own code looks at the clock every so often, and gives way to whatever else
 *  is due once it has had its time. */

import type { Clock, TurnPlace } from './clock.ts'
import { CacheError } from './errors.ts'

/** The time for which work goes on before it gives way: a third of what the event loop may be held
 *  for, since two slices may meet, and small things come between them. */
const defaultSliceMs = 3

export type SliceClock = Pick<Clock, 'monotonicMs' | 'yield'>

export class Slice {
  readonly #clock: SliceClock
  readonly #lengthMs: number
  #endMs: number

  readonly #signal: AbortSignal | undefined

  /** Work for somebody ends when its signal says that nobody waits any more. */
  constructor(clock: SliceClock, lengthMs: number = defaultSliceMs, signal?: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
    this.#lengthMs = lengthMs
    this.#endMs = clock.monotonicMs() + lengthMs
  }

  /** True once its time is over: whoever works must await `next` then. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  /** Gives way, and begins the next slice: `first` as for `Clock.yield`. */
  async next(place?: TurnPlace): Promise<void> {
    await this.#clock.yield(place)
    if (this.#signal?.aborted === true) {
      throw new CacheError('closed', 'nobody waits any more for what is worked on')
    }
    this.#endMs = this.#clock.monotonicMs() + this.#lengthMs
  }

  /** Between two steps: gives way if its time is over. */
  async giveWay(): Promise<void> {
    if (this.isOver) await this.next()
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

/** A task in steps, none of which takes long. */
export type Steps<Result> = Generator<undefined, Result, undefined>

const smallThings = 64
let done = 0
let effort = 0

/** True now and then. Who walks through many small things asks at each of them, and yields then: a
 *  step for each would cost more than what is done in it. */
export function isStepDue(): boolean {
  if (++done < smallThings) return false
  done = 0
  return true
}

/** Counts a thing that is as much work as so many small ones, of about a microsecond each: whoever
 *  walks through such things learns of it from `isStepDue` and `notedEffort`. */
export function noteEffort(things: number): void {
  done += things
  effort += things
}

/** Everything that was noted so far: the difference of two calls is the effort in between. */
export function notedEffort(): number {
  return effort
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
