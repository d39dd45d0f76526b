/** A secondary index as one snapshot sees it: which keys have a term.
 *
 *  An index is a tree of the same kind as the contents. Its keys are (term, key) as one string, the
 *  term made prefix-free, so that all keys of a term lie side by side in key order. It refers to
 *  contents by key, not by entry: a change that leaves the terms of an entry as they are, as most
 *  do, leaves the index as it is. */

import { type Key, keyFromText, type KeyRange, prefixEnd } from '@watchglass/base'
import type { BTree, RangeOptions } from './btree.ts'
import type { KeyValue } from './event.ts'

/** One term of one entry. */
export class IndexEntry {
  /** The place of (term, key) in the index. */
  readonly key: Key
  /** The key of the entry. */
  readonly target: Key

  constructor(term: string, target: Key) {
    this.key = indexKey(term, target)
    this.target = target
  }
}

/** The terms of an entry. They must depend on the entry alone, and the function must not throw. */
export type TermsOf = (entry: KeyValue) => readonly string[]

/** The change of one key's terms. */
export interface TermChanges {
  /** Places in the index. */
  readonly gone: readonly Key[]
  readonly added: readonly IndexEntry[]
}

/** The trees of all complete indexes by name. Never changed: a change makes another map. */
export type IndexTrees = ReadonlyMap<string, BTree<IndexEntry>>

export class IndexSnapshot {
  readonly #index: BTree<IndexEntry>
  readonly #contents: BTree<KeyValue>

  constructor(index: BTree<IndexEntry>, contents: BTree<KeyValue>) {
    this.#index = index
    this.#contents = contents
  }

  /** The entries in the range that have the term, in key order or from the end. O(log n) for
   *  each. */
  range(term: string, range: KeyRange, options: RangeOptions = {}): KeyValue[] {
    const entries = this.#index.range(termRange(term, range), options)
    return entries.map(({ target }) => this.#contents.get(target)!)
  }

  /** The entries of a term, found one by one as they are asked for. */
  *iterate(term: string, range: KeyRange, reverse = false): Iterable<KeyValue> {
    for (const { target } of this.#index.iterate(termRange(term, range), reverse)) {
      yield this.#contents.get(target)!
    }
  }

  /** The number of keys in the range that have the term. O(log n). */
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

/** The term in a prefix-free form: a zero byte in it is followed by a one, and two zero bytes end
 *  it. */
export function termPrefix(term: string): Key {
  const bytes = keyFromText(term)
  const safe = bytes.includes('\0') ? bytes.replaceAll('\0', '\0\u0001') : bytes
  return (safe + '\0\0') as Key
}
