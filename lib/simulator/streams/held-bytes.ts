/** Bytes that a stream to a pod holds: those that its client has not taken, and those of its client
 *  that nobody has read. All streams share a bound, for each user and together. */

import type { Tally } from '@watchglass/cache'

export class HeldStreamBytes {
  readonly #tally: Tally
  readonly #user: string | undefined
  #held = 0
  #isOver = false

  constructor(tally: Tally, user: string | undefined) {
    this.#tally = tally
    this.#user = user
  }

  /** Holds so many bytes more, or fewer. False, with nothing changed, if no bound allows it. */
  change(bytes: number): boolean {
    if (this.#isOver || bytes === 0) return true
    if (bytes < 0) this.#tally.remove(this.#user, -bytes)
    else if (this.#tally.add(this.#user, bytes) !== undefined) return false
    this.#held += bytes
    return true
  }

  /** The stream is over: everything is given back. */
  end(): void {
    this.change(-this.#held)
    this.#isOver = true
  }
}
