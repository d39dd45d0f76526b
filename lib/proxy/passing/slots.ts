/** Limits how many tasks run at once. */

export class Slots {
  readonly max: number
  #taken = 0

  constructor(max: number) {
    this.max = max
  }

  get taken(): number {
    return this.#taken
  }

  /** Takes a slot; undefined if all are taken. The returned function frees it; calling it again
   *  does nothing. */
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
