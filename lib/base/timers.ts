/** Helpers made of timers: work that is done again and again, work that may take only so long, one
 *  timer for many moments, and what is not used for a while. */

import type { CancelTimer, Clock } from './clock.ts'
import { LinkedAbort } from './linked-abort.ts'

/** Does a task every so often until it is cancelled: the first time after one pause, and then a
 *  pause after each end. A task must not fail. */
export function repeat(
  clock: Clock,
  everyMs: number,
  task: () => void | Promise<void>,
): CancelTimer {
  let cancel: CancelTimer = () => {}
  let isCancelled = false
  const wait = (): void => {
    if (!isCancelled) cancel = clock.setTimer(everyMs, run)
  }
  const run = (): void => {
    const ended = task()
    if (ended === undefined) wait()
    else void ended.then(wait)
  }
  wait()
  return () => {
    isCancelled = true
    cancel()
  }
}

/** Looks again and again for as long as there is something to look at. */
export class Rounds {
  readonly #clock: Clock
  readonly #look: () => boolean
  readonly #everyMs: number
  #cancel: CancelTimer | undefined = undefined

  /** `look`: true if there is something left. */
  constructor(clock: Clock, everyMs: number, look: () => boolean) {
    this.#clock = clock
    this.#everyMs = everyMs
    this.#look = look
  }

  /** Announces something to look at; the look comes at the end of the interval. */
  wake(): void {
    this.#cancel ??= this.#clock.setTimer(this.#everyMs, () => {
      this.#cancel = undefined
      if (this.#look()) this.wake()
    })
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }
}

/** Longer timers do not exist on all clocks. */
const timerMaxMs = 2 ** 31 - 1

/** One timer for many moments: it rings at the earliest one that it was set for. It may ring early
 *  for one that is more than 24 days away, so whoever is woken looks at the clock, and sets it
 *  again. */
export class Alarm {
  readonly #clock: Clock
  readonly #onRing: () => void
  #atMs = Infinity
  #cancel: CancelTimer = () => {}

  constructor(clock: Clock, onRing: () => void) {
    this.#clock = clock
    this.#onRing = onRing
  }

  /** Rings at this moment of the monotonic clock, or before. */
  set(atMs: number): void {
    if (atMs >= this.#atMs) return
    this.#cancel()
    this.#atMs = atMs
    const delayMs = Math.min(Math.max(0, atMs - this.#clock.monotonicMs()), timerMaxMs)
    this.#cancel = this.#clock.setTimer(delayMs, () => {
      this.#atMs = Infinity
      this.#onRing()
    })
  }

  /** Rings no more until it is set again. */
  clear(): void {
    this.#cancel()
    this.#atMs = Infinity
  }
}

/** Rings whenever there was no use for a while, until it is stopped. A use costs a look at the
 *  clock, and sets no timer; while one goes on, nothing rings. */
export class IdleTimer {
  readonly #clock: Clock
  readonly #maxMs: number
  readonly #onIdle: () => void
  #usedAtMs: number
  #underWay = 0
  #cancel: CancelTimer = () => {}

  constructor(clock: Clock, maxMs: number, onIdle: () => void) {
    this.#clock = clock
    this.#maxMs = maxMs
    this.#onIdle = onIdle
    this.#usedAtMs = clock.monotonicMs()
    this.#wait(maxMs)
  }

  used(): void {
    this.#usedAtMs = this.#clock.monotonicMs()
  }

  /** A use that goes on until what is returned is called, once. */
  begin(): () => void {
    this.#underWay++
    return () => {
      this.#underWay--
      this.used()
    }
  }

  stop(): void {
    this.#cancel()
  }

  #wait(delayMs: number): void {
    this.#cancel = this.#clock.setTimer(delayMs, () => {
      const leftMs = this.#usedAtMs + this.#maxMs - this.#clock.monotonicMs()
      this.#wait(leftMs > 0 ? leftMs : this.#maxMs)
      if (leftMs <= 0 && this.#underWay === 0) this.#onIdle()
    })
  }
}

export interface TimeLimit {
  readonly clock: Clock
  readonly maxMs: number
  /** Ends the task as well. */
  readonly signal?: AbortSignal | undefined
  /** Failure of a task whose time is over. */
  readonly late: () => Error
}

/** Does a task, whose signal is aborted when its time is over, or with the given one. Nothing is
 *  left behind when it has ended. */
export async function withTimeLimit<T>(
  { clock, maxMs, signal, late }: TimeLimit,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new LinkedAbort(signal)
  let isLate = false
  const cancel = clock.setTimer(maxMs, () => {
    isLate = true
    limit.abort()
  })
  try {
    return await task(limit.signal)
  } catch (error) {
    throw isLate ? late() : error
  } finally {
    cancel()
    limit.release()
  }
}
