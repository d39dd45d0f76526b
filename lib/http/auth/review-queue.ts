/** Questions to the upstream about callers, a few at a time. Callers whom it has accepted before go first: whoever sends a thousand made-up
 *  tokens waits behind them, and has a part of the places only. */

import { CacheError } from '../../base/errors.ts'

/** With the upstream at once, and how many of these about callers who are not known. */
const runningMax = 128
const strangersMax = 64
/** More in a line than any upstream answers in time. */
const waitingMax = 2_000
const strangersWaitingMax = 1_000

type Start = () => void

export class ReviewQueue {
  readonly #accepted: Start[] = []
  readonly #strangers: Start[] = []
  #running = 0
  #strangersRunning = 0

  /** Questions that are with the upstream, or wait for it. */
  get underWay(): number {
    return this.#running + this.#accepted.length + this.#strangers.length
  }

  /** Asks when it is time. Fails with `overloaded` at once when too many wait. */
  async run<T>(ask: () => Promise<T>, isAccepted: boolean): Promise<T> {
    if (!this.#mayStart(isAccepted)) await this.#wait(isAccepted)
    else this.#start(isAccepted)
    try {
      return await ask()
    } finally {
      this.#running--
      if (!isAccepted) this.#strangersRunning--
      this.#next()
    }
  }

  #mayStart(isAccepted: boolean): boolean {
    return this.#running < runningMax && (isAccepted || this.#strangersRunning < strangersMax)
  }

  #start(isAccepted: boolean): void {
    this.#running++
    if (!isAccepted) this.#strangersRunning++
  }

  #wait(isAccepted: boolean): Promise<void> {
    const line = isAccepted ? this.#accepted : this.#strangers
    const max = isAccepted ? waitingMax : strangersWaitingMax
    if (line.length >= max) {
      throw new CacheError('overloaded', `${max} access reviews wait`, { retryAfterMs: 1_000 })
    }
    return new Promise(resolve => line.push(resolve))
  }

  #next(): void {
    for (const [line, isAccepted] of [
      [this.#accepted, true],
      [this.#strangers, false],
    ] as const) {
      while (line.length > 0 && this.#mayStart(isAccepted)) {
        this.#start(isAccepted)
        line.shift()?.()
      }
    }
  }
}
