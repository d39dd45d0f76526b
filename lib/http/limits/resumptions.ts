/** When lists and watches go on that have waited for the same answer, such as etcd's revision: all at once, and there may be a hundred of
 *  them. They go on for a short time in each turn of the event loop; the others take turns after that. Gets never wait here. */

import type { Clock } from '../../base/clock.ts'

/** So long they go on without waiting, in one turn of the event loop. A single list is never late. */
const atOnceMs = 1

export type ResumptionsClock = Pick<Clock, 'monotonicMs' | 'yield'>

export class Resumptions {
  readonly #clock: ResumptionsClock
  #isTurn = false
  #endMs = 0

  constructor(clock: ResumptionsClock) {
    this.#clock = clock
  }

  /** Resolves when the caller may go on; undefined: at once. */
  next(): Promise<void> | undefined {
    const nowMs = this.#clock.monotonicMs()
    if (!this.#isTurn) {
      this.#isTurn = true
      this.#endMs = nowMs + atOnceMs
      setImmediate(this.#endTurn)
    }
    return nowMs < this.#endMs ? undefined : this.#clock.yield()
  }

  readonly #endTurn = (): void => {
    this.#isTurn = false
  }
}
