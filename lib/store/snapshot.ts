/** The contents of a keyspace at one revision: its tree, read as `BTree` says. Immutable: a snapshot shares all its nodes with its
 *  neighbours in history but for what has changed, and stays readable for as long as somebody holds it, whatever happens to the
 *  keyspace. */

import type { Revision } from '../base/revision.ts'
import type { Node } from './btree-nodes.ts'
import { BTree } from './btree.ts'
import type { KeyValue } from './event.ts'
import { type IndexTrees, IndexSnapshot } from './index-snapshot.ts'

/** What a snapshot is made of. */
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

  /** The index of that name, or `undefined` when it was not complete at this revision: the caller scans then. */
  index(name: string): IndexSnapshot | undefined {
    const tree = this.indexes.get(name)
    return tree === undefined ? undefined : new IndexSnapshot(tree, this)
  }
}
