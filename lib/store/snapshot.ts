/** The contents of a keyspace at one revision. Immutable: it costs two pointers, shares its tree with its neighbours in history,
 *  and stays readable for as long as somebody holds it, whatever happens to the keyspace. */

import type { Key, KeyRange } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'
import type { BTree, LeafSlice, RangeOptions } from './btree.ts'
import type { KeyValue } from './event.ts'
import { type IndexTrees, IndexView } from './index-view.ts'

export class Snapshot {
  readonly revision: Revision
  /** The tree itself, for the store. */
  readonly tree: BTree<KeyValue>
  /** The trees of the indexes that are complete at this revision, for the store. */
  readonly indexes: IndexTrees

  constructor(revision: Revision, tree: BTree<KeyValue>, indexes: IndexTrees) {
    this.revision = revision
    this.tree = tree
    this.indexes = indexes
  }

  /** How many keys there are. */
  get size(): number {
    return this.tree.size
  }

  /** The entry of `key`. O(log n). */
  get(key: Key): KeyValue | undefined {
    return this.tree.get(key)
  }

  /** The entries of the range in key order, or from the end. O(log n) and what it returns. */
  range(range: KeyRange, options: RangeOptions = {}): KeyValue[] {
    return this.tree.range(range, options)
  }

  /** How many keys lie in the range. O(log n). */
  count(range: KeyRange): number {
    return this.tree.count(range)
  }

  /** The leaves that hold the range, with the part of each that lies in it; lazily, in key order or from the end. */
  leaves(range: KeyRange, reverse = false): Iterable<LeafSlice<KeyValue>> {
    return this.tree.leaves(range, reverse)
  }

  /** The entries of the range one by one, as they are asked for. */
  iterate(range: KeyRange, reverse = false): Iterable<KeyValue> {
    return this.tree.iterate(range, reverse)
  }

  /** The index of that name, or `undefined` when it was not complete at this revision: the caller scans then. */
  index(name: string): IndexView | undefined {
    const tree = this.indexes.get(name)
    return tree === undefined ? undefined : new IndexView(tree, this.tree)
  }
}
