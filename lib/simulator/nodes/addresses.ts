/** The addresses that pods are given. */
export class Addresses {
  /** Counts up, so that one is hardly ever given twice. */
  #last: number

  constructor(start: number) {
    this.#last = Math.floor(start)
  }

  next(): string {
    this.#last = (this.#last + 1) % 2 ** 22
    const rest = this.#last
    return `10.${128 + (rest >> 16)}.${(rest >> 8) & 0xff}.${rest & 0xff}`
  }
}
