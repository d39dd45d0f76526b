/** The moments at which rows of a live order may be chosen or left out although their objects do
 *  not change: `age<1h` holds until the object is an hour old. Where each row stands is kept, too,
 *  since it cannot be told any more from the object as it was before a change. */

import { Heap, type Key } from '@watchglass/base'

interface Turn {
  readonly key: Key
  readonly atMs: number
}

/** The bytes of a row's place and turn, in maps and in the heap. */
const turnBytes = 200

export class RowTurns {
  /** The places of the rows that are chosen, by the keys of their objects. */
  readonly places: Map<Key, Key> = new Map()
  readonly #turns = new Map<Key, number>()
  /** With turns that are not those of their keys any more: these are passed over. */
  readonly #heap = new Heap<Turn>((a, b) => a.atMs - b.atMs)

  get bytes(): number {
    return turnBytes * (this.places.size + this.#heap.size)
  }

  /** The moment of the next turn; Infinity if there is none. */
  get nextMs(): number {
    return this.#heap.first?.atMs ?? Infinity
  }

  clear(): void {
    this.places.clear()
    this.#turns.clear()
    this.#heap.takeAll()
  }

  /** Notes the next turn of an object; Infinity: there is none. */
  note(key: Key, atMs: number): void {
    if (this.#turns.get(key) === atMs) return
    if (atMs === Infinity) {
      this.#turns.delete(key)
      return
    }
    this.#turns.set(key, atMs)
    this.#heap.add({ key, atMs })
    if (this.#heap.size > 2 * this.#turns.size + staleMax) this.#heap.retain(one => this.#isOf(one))
  }

  /** Takes a key whose turn has come; undefined if there is none. */
  take(wallMs: number): Key | undefined {
    for (let first = this.#heap.first; first !== undefined; first = this.#heap.first) {
      if (first.atMs > wallMs) return undefined
      this.#heap.take()
      if (!this.#isOf(first)) continue
      this.#turns.delete(first.key)
      return first.key
    }
    return undefined
  }

  #isOf({ key, atMs }: Turn): boolean {
    return this.#turns.get(key) === atMs
  }
}

/** The number of stale turns that are no matter. */
const staleMax = 64
