/** The contents of a keyspace at one revision: its tree, with the reads of `BTree`. Immutable: a
 *  snapshot shares all unchanged nodes with its neighbours in the history, and stays readable as
 *  long as it is held, whatever happens to the keyspace. */

import type { Revision } from '@watchglass/base'
import type { Node } from './btree-nodes.ts'
import { BTree } from './btree.ts'
import type { KeyValue } from './event.ts'
import { type IndexTrees, IndexSnapshot } from './index-snapshot.ts'

/** Parts of a snapshot. */
export interface SnapshotParts {
  readonly revision: Revision
  readonly root: Node<KeyValue>
  readonly height: number
  /** The trees of the indexes that are complete at this revision. */
  readonly indexes: IndexTrees
}

export class Snapshot extends BTree<KeyValue> implements SnapshotParts {
  readonly revision: Revision
  readonly indexes: IndexTrees

  constructor({ revision, root, height, indexes }: SnapshotParts) {
    super(root, height)
    this.revision = revision
    this.indexes = indexes
  }

  /** The index of that name; `undefined` if it was not complete at this revision: the caller then
   *  scans. */
  index(name: string): IndexSnapshot | undefined {
    const tree = this.indexes.get(name)
    return tree === undefined ? undefined : new IndexSnapshot(tree, this)
  }
}
