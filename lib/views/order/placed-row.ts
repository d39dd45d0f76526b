/** A row in an order, and what a page is taken from: rows that are kept in order, those that were
 *  sorted for one answer, or all objects in the order of their keys. */

import type { Key, KeyRange } from '@watchglass/base'
import type { BTree, KeyValue } from '@watchglass/store'

/** The place of an object's row. */
export class PlacedRow {
  readonly key: Key
  /** The key of the object. */
  readonly target: Key

  constructor(place: Key, target: Key) {
    this.key = place
    this.target = target
  }
}

/** Rows in order. */
export interface RowOrder {
  readonly size: number
  /** Number of rows whose place is below one. O(log n). */
  rank(place: Key): number
  /** The rows from an index on. O(log n) and what it returns. */
  rows(from: number, limit: number): readonly PlacedRow[]
}

/** Rows that are kept as a tree. */
export class TreeOrder implements RowOrder {
  readonly tree: BTree<PlacedRow>

  constructor(tree: BTree<PlacedRow>) {
    this.tree = tree
  }

  get size(): number {
    return this.tree.size
  }

  rank(place: Key): number {
    return this.tree.rank(place)
  }

  rows(from: number, limit: number): readonly PlacedRow[] {
    const first = this.tree.at(from)
    return first === undefined
      ? []
      : this.tree.range({ start: first.key, end: undefined }, { limit })
  }
}

/** Rows that were sorted for one answer. */
export class SortedRows implements RowOrder {
  readonly #rows: readonly PlacedRow[]

  constructor(rows: readonly PlacedRow[]) {
    this.#rows = rows
  }

  get size(): number {
    return this.#rows.length
  }

  rank(place: Key): number {
    let low = 0
    let high = this.#rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#rows[middle]!.key < place) low = middle + 1
      else high = middle
    }
    return low
  }

  rows(from: number, limit: number): readonly PlacedRow[] {
    return this.#rows.slice(from, from + limit)
  }
}

/** All objects of a range in the order of their keys, which are their places. */
export class KeyOrder implements RowOrder {
  readonly #contents: BTree<KeyValue>
  readonly #range: KeyRange
  readonly #before: number

  constructor(contents: BTree<KeyValue>, range: KeyRange) {
    this.#contents = contents
    this.#range = range
    this.#before = contents.rank(range.start)
  }

  get size(): number {
    return this.#contents.count(this.#range)
  }

  rank(place: Key): number {
    return Math.min(this.size, Math.max(0, this.#contents.rank(place) - this.#before))
  }

  rows(from: number, limit: number): readonly PlacedRow[] {
    const first = this.#contents.at(this.#before + from)
    if (first === undefined) return []
    const { end } = this.#range
    return this.#contents
      .range({ start: first.key, end }, { limit })
      .map(({ key }) => new PlacedRow(key, key))
  }
}
