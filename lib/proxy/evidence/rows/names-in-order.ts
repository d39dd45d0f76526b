/** The API names in an object's texts, in order of their first occurrence: cells of Tables depend
 *  on several of them, and on their order. */

import { mixed, wholeOf } from './row-table.ts'

/** Further names are ignored. */
const namesMax = 64

export class NamesInOrder {
  readonly #seen = new Int32Array(namesMax)
  #count = 0
  #low = 0
  #high = 0

  clear(): void {
    this.#count = 0
    this.#low = 0
    this.#high = 0
  }

  add(node: number, field: number, name: number): void {
    const one = mixed(name, Math.imul(node, 0x0101) ^ field)
    for (let i = 0; i < this.#count; i++) if (this.#seen[i] === one) return
    if (this.#count === namesMax) return
    this.#seen[this.#count++] = one
    this.#low = mixed(this.#low, one)
    this.#high = mixed(this.#high ^ 0x27d4_eb2f, Math.imul(one, 0x1656_67b1))
  }

  /** A hash of all names in this order. */
  get sum(): number {
    return wholeOf(this.#low, this.#high)
  }
}
