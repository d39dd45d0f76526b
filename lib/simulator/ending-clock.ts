/** The clock of work that ends with its owner. */

import type { CancelTimer, Clock, TurnPlace } from '@watchglass/base'

/** A clock whose timers end all at once: whoever sets another one later sets none, so that work
 *  that was under way at the end keeps no process alive. */
export class EndingClock implements Clock {
  readonly #clock: Clock
  readonly #cancels = new Set<CancelTimer>()
  #hasEnded = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wallMs(): number {
    return this.#clock.wallMs()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  yield(place?: TurnPlace): Promise<void> {
    return this.#clock.yield(place)
  }

  setTimer(delayMs: number, task: () => void): CancelTimer {
    if (this.#hasEnded) return () => {}
    const cancel = this.#clock.setTimer(delayMs, () => {
      this.#cancels.delete(ended)
      task()
    })
    const ended = (): void => {
      this.#cancels.delete(ended)
      cancel()
    }
    this.#cancels.add(ended)
    return ended
  }

  end(): void {
    this.#hasEnded = true
    for (const cancel of this.#cancels) cancel()
  }
}
