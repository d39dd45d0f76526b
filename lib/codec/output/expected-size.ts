/** Whether a list is larger than what may be kept of all lists: then a part of it is kept, and always the same. */

/** Of a list that is larger than what may be kept, whatever was used since it was read last stays: several clients may read it. */
const sparedLists = 3

/** How large a list will be, from its items so far. */
export class ExpectedSize {
  readonly #allItems: number
  readonly #keptMaxBytes: number
  #items = 0
  #bytes = 0

  constructor(allItems: number, keptMaxBytes: number = Infinity) {
    this.#allItems = allItems
    this.#keptMaxBytes = keptMaxBytes
  }

  /** What must not be replaced by items of this list; 0 if it fits. */
  get sparedBytes(): number {
    if (this.#items === 0) return 0
    const bytes = (this.#bytes * this.#allItems) / this.#items
    return bytes > this.#keptMaxBytes ? sparedLists * bytes : 0
  }

  add(items: number, bytes: number): void {
    this.#items += items
    this.#bytes += bytes
  }
}
