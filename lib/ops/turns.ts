/** Runs long work in slices, in turns: after a slice a task waits until all other waiting tasks have had one, and between slices the event
 *  loop serves its sockets.
 *
 *  A setImmediate for each task is not enough: all immediates that are due run before the loop serves a socket again, so a thousand
 *  streams with slices of 4 ms would hold it for 4 s. Here tasks run for a few milliseconds in total, one slice each, and the rest of
 *  the queue waits for the next turn of the loop. A few tasks go first, because all clients wait for them: events of watches must not
 *  wait behind a thousand lists. In each turn at least one of the other tasks runs, too. */

/** How long slices may begin within one turn of the loop. With a last slice of 4 ms the loop is held for 6 ms, and requests begin in it for 3
 *  (lib/http/limits/starts.ts). */
const turnMs = 2

export class Turns {
  readonly #nowMs: () => number
  #waiting: (() => void)[] = []
  /** Tasks that go before all others in the next turn of the loop. */
  #first: (() => void)[] = []
  /** How many such tasks are at the head of `#waiting`. */
  #leading = 0
  /** How many of `#waiting` have had their slice in this turn. */
  #served = 0
  #atBegin = 0
  #isServing = false
  #endMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Resolves when the caller may run a slice; never before the loop's next turn. */
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
      // The tick runs after all promise callbacks of the slice.
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
