/** Work in slices, in turns: whoever has worked for a while lets everybody else who waits have a slice first, and between slices the
 *  event loop attends to its sockets.
 *
 *  An immediate for each would not do: all immediates that are due run before the loop looks at a socket again, so that a thousand
 *  streams with slices of 4 ms each would hold it for 4 s. Here slices are given out for a few milliseconds, one to each who waits,
 *  and what is left of the queue waits until the loop has been round. Those few whom everybody waits for come first: news must not
 *  stand in line behind a thousand lists. At least one of the others has a slice all the same, each time. */

/** Short slices share a turn of the loop up to this long; with one of 4 ms that began just before, the loop is held for 8 ms. */
const turnMs = 4

export class Turns {
  readonly #nowMs: () => number
  #waiting: (() => void)[] = []
  /** Those that go before all others, from the next turn of the loop on. */
  #first: (() => void)[] = []
  /** How many of these lead those who wait. */
  #leading = 0
  /** How many of those who wait had their slice in this turn. */
  #served = 0
  #atBegin = 0
  #isServing = false
  #endMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Resolves when it is the caller's turn to work for a slice; never before the loop has been round. */
  next(place?: 'first'): Promise<void> {
    return new Promise(resolve => {
      if (place === 'first') this.#first.push(resolve)
      else this.#waiting.push(resolve)
      if (this.#isServing) return
      this.#isServing = true
      setImmediate(this.#begin)
    })
  }

  readonly #begin = (): void => {
    this.#leading = this.#first.length
    if (this.#served > 0 || this.#leading > 0) {
      this.#waiting = [...this.#first, ...this.#waiting.slice(this.#served)]
      this.#first = []
      this.#served = 0
    }
    this.#atBegin = this.#waiting.length
    this.#endMs = this.#nowMs() + turnMs
    this.#serve()
  }

  readonly #serve = (): void => {
    const hasTime = this.#served <= this.#leading || this.#nowMs() < this.#endMs
    if (this.#served < this.#atBegin && hasTime) {
      this.#waiting[this.#served++]?.()
      // A tick comes after all that the slice does in promises, however many of them.
      queueMicrotask(this.#tick)
    } else if (this.#served < this.#waiting.length || this.#first.length > 0) {
      setImmediate(this.#begin)
    } else {
      this.#isServing = false
      this.#waiting = []
      this.#served = 0
    }
  }

  readonly #tick = (): void => {
    process.nextTick(this.#serve)
  }
}
