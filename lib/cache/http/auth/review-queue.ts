/** Limits how many access reviews are in flight. Reviews of callers whom the upstream has
 *  accepted before go first: a client that sends a thousand invalid tokens waits behind them,
 *  and gets only a part of the slots. */

import { CacheError } from '@watchglass/base'

/** Reviews in flight, and how many of them may be about unknown callers. */
const runningMax = 128
const strangersMax = 16
/** The bound of a queue: more than any upstream answers in time. */
const waitingMax = 2_000
const strangersWaitingMax = 1_000

type Start = () => void

export class ReviewQueue {
  readonly #accepted: Start[] = []
  readonly #strangers: Start[] = []
  #running = 0
  #strangersRunning = 0

  /** Reviews in flight or waiting. */
  get underWay(): number {
    return this.#running + this.#accepted.length + this.#strangers.length
  }

  /** Starts the review when there is a slot. Fails with `overloaded` at once if too many wait. */
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
