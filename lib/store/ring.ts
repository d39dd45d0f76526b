/** A queue in a ring buffer: append at the end, take from the front, read anywhere, all in O(1).
 *  The buffer doubles when it is full and halves when a quarter is used. */

const minSlots = 16

export class Ring<T> {
  #slots: (T | undefined)[] = emptySlots(minSlots)
  #head = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get first(): T | undefined {
    return this.at(0)
  }

  get last(): T | undefined {
    return this.at(this.#size - 1)
  }

  /** The item at `index`, counted from the front. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.#size) return undefined
    return this.#slots[(this.#head + index) & (this.#slots.length - 1)]
  }

  push(item: T): void {
    if (this.#size === this.#slots.length) this.#resize(this.#size * 2)
    this.#slots[(this.#head + this.#size) & (this.#slots.length - 1)] = item
    this.#size++
  }

  shift(): T | undefined {
    const item = this.first
    if (this.#size === 0) return undefined
    this.#slots[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#slots.length - 1)
    this.#size--
    if (this.#size * 4 <= this.#slots.length && this.#slots.length > minSlots) {
      this.#resize(this.#slots.length / 2)
    }
    return item
  }

  /** Puts `item` in place of the last one. */
  replaceLast(item: T): void {
    if (this.#size > 0) this.#slots[(this.#head + this.#size - 1) & (this.#slots.length - 1)] = item
  }

  #resize(slots: number): void {
    const items = emptySlots<T>(slots)
    for (let i = 0; i < this.#size; i++) items[i] = this.at(i)
    this.#slots = items
    this.#head = 0
  }
}

function emptySlots<T>(length: number): (T | undefined)[] {
  return Array.from({ length })
}
