/** A binary heap: the first of its items in O(1), adding and taking one in O(log n). */

/** Negative when `a` comes before `b`. Items that compare as equal come in any order. */
export type Compare<T> = (a: T, b: T) => number

export class Heap<T> {
  readonly #compare: Compare<T>
  #items: T[] = []

  constructor(compare: Compare<T>) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  /** The first item, left where it is. */
  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#items.push(item)
    this.#rise(this.#items.length - 1)
  }

  /** Takes the first item out. */
  take(): T | undefined {
    const first = this.#items[0]
    const last = this.#items.pop()
    if (this.#items.length > 0 && last !== undefined) {
      this.#items[0] = last
      this.#sink(0)
    }
    return first
  }

  /** Takes every item out, in no order. */
  takeAll(): T[] {
    const items = this.#items
    this.#items = []
    return items
  }

  /** Lets go of the items that do not pass. O(n). */
  retain(passes: (item: T) => boolean): void {
    this.#items = this.#items.filter(passes)
    for (let i = (this.#items.length >>> 1) - 1; i >= 0; i--) this.#sink(i)
  }

  #rise(start: number): void {
    const items = this.#items
    const item = items[start]!
    let index = start
    while (index > 0) {
      const parent = (index - 1) >>> 1
      if (this.#compare(items[parent]!, item) <= 0) break
      items[index] = items[parent]!
      index = parent
    }
    items[index] = item
  }

  #sink(start: number): void {
    const items = this.#items
    const item = items[start]!
    let index = start
    for (;;) {
      let child = 2 * index + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#compare(items[child + 1]!, items[child]!) < 0) child++
      if (this.#compare(item, items[child]!) <= 0) break
      items[index] = items[child]!
      index = child
    }
    items[index] = item
  }
}
