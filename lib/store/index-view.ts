/** A secondary index as one snapshot sees it: which keys have a term.
 *
 *  An index is a tree of the same kind as the contents. Its keys are (term, key) as one string, the term made prefix-free, so
 *  that all keys of a term lie side by side in key order. Its entries are the keys alone, not the entries: a change that leaves
 *  the terms of an entry as they are, as most do, leaves the index as it is. */

import { type Key, type KeyRange, prefixEnd } from '../base/keys.ts'
import type { BTree, RangeOptions } from './btree.ts'
import type { KeyValue } from './event.ts'

/** The trees of all complete indexes by name. Never changed: a change makes another map. */
export type IndexTrees = ReadonlyMap<string, BTree<Key>>

export class IndexView {
  readonly #index: BTree<Key>
  readonly #contents: BTree<KeyValue>

  constructor(index: BTree<Key>, contents: BTree<KeyValue>) {
    this.#index = index
    this.#contents = contents
  }

  /** The entries in the range that have the term, in key order or from the end. O(log n) for each. */
  range(term: string, range: KeyRange, options: RangeOptions = {}): KeyValue[] {
    const keys = this.#index.range(termRange(term, range), options)
    return keys.map(key => this.#contents.get(key)!)
  }

  /** The same, one by one, as they are asked for. */
  *iterate(term: string, range: KeyRange, reverse = false): Generator<KeyValue, void, undefined> {
    for (const key of this.#index.iterate(termRange(term, range), reverse)) {
      yield this.#contents.get(key)!
    }
  }

  /** How many keys in the range have the term. O(log n). */
  count(term: string, range: KeyRange): number {
    return this.#index.count(termRange(term, range))
  }
}

/** The place of (term, key) in an index. */
export function indexKey(term: string, key: Key): Key {
  return (termPrefix(term) + key) as Key
}

function termRange(term: string, range: KeyRange): KeyRange {
  const prefix = termPrefix(term)
  const end = range.end === undefined ? prefixEnd(prefix) : ((prefix + range.end) as Key)
  return { start: (prefix + range.start) as Key, end }
}

/** The term so that no other's begins with it: a zero in it is followed by U+0001, and two zeros end it. */
function termPrefix(term: string): Key {
  return (term.replaceAll('\0', '\0\u0001') + '\0\0') as Key
}
