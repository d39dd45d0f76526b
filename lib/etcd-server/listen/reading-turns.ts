/** The time in which a listener's messages are read in one turn of the event loop, by all of its
 *  calls together. One read of a socket may bring 70,000 small messages, and a thousand sockets may
 *  be ready at once: whoever comes when the time is over waits for the next turn, in order. */

import type { Clock } from '@watchglass/base'

/** As long as a slice of other work: two of them, and what comes between, hold nobody for 10 ms. */
const turnMs = 3

export class ReadingTurns {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'yield'>
  #waiting: (() => void)[] = []
  #isUnderWay = false
  #endMs = 0

  constructor(clock: Pick<Clock, 'monotonicMs' | 'yield'>) {
    this.#clock = clock
  }

  /** Whether there is time for one more message. Who gets none must `wait`. */
  hasTime(): boolean {
    if (!this.#isUnderWay) this.#begin()
    return this.#clock.monotonicMs() < this.#endMs
  }

  /** Calls `goOn` in a later turn. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn)
  }

  #begin(): void {
    this.#isUnderWay = true
    this.#endMs = this.#clock.monotonicMs() + turnMs
    void this.#clock.yield().then(() => {
      this.#isUnderWay = false
      if (this.#waiting.length > 0) this.#serve()
    })
  }

  #serve(): void {
    const waiting = this.#waiting
    this.#waiting = []
    let at = 0
    for (; at < waiting.length && this.hasTime(); at++) waiting[at]!()
    this.#waiting = [...waiting.slice(at), ...this.#waiting]
  }
}
