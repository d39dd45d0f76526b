/** How many of something may be under way at once. */

export class Slots {
  readonly max: number
  #taken = 0

  constructor(max: number) {
    this.max = max
  }

  get taken(): number {
    return this.#taken
  }

  /** Takes one; undefined if there is none. The answer gives it back, and does nothing when it is called again. */
  take(): (() => void) | undefined {
    if (this.#taken >= this.max) return undefined
    this.#taken++
    let isTaken = true
    return () => {
      if (isTaken) this.#taken--
      isTaken = false
    }
  }
}
