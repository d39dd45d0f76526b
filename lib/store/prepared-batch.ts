/** A batch that is being applied, a few changes at a time: a transaction may change a hundred
 *  thousand keys, and readers must not wait for all of them. It is made in new nodes, beside what
 *  readers see; `Keyspace.publish` shows it. */

import { CacheError, type Key, type Revision, textFromKey } from '@watchglass/base'
import { TreeEdit } from './btree-edit.ts'
import type { BTree } from './btree.ts'
import type { Change, Event, KeyValue } from './event.ts'
import { bytesOf } from './history.ts'
import type { IndexesEdit } from './indexes.ts'
import type { Snapshot } from './snapshot.ts'

interface Changes {
  readonly revision: Revision
  readonly changes: readonly Change[]
}

export class PreparedBatch {
  readonly revision: Revision
  readonly changes: readonly Change[]
  readonly indexes: IndexesEdit
  readonly #base: BTree<KeyValue>
  readonly #edit: TreeEdit<KeyValue>
  readonly #events: Event[] = []
  /** The keys so far, where there are several. */
  readonly #keys: Set<Key> | undefined
  #bytes = 0

  constructor({ revision, changes }: Changes, base: BTree<KeyValue>, indexes: IndexesEdit) {
    this.revision = revision
    this.changes = changes
    this.indexes = indexes
    this.#base = base
    this.#edit = new TreeEdit(base)
    this.#keys = changes.length === 1 ? undefined : new Set()
  }

  /** Applies up to so many changes more. False when none are left; fails with `conflict` at one
   *  that does not fit. */
  step(maxChanges: number): boolean {
    const { changes, indexes } = this
    const end = Math.min(changes.length, this.#events.length + maxChanges)
    for (let i = this.#events.length; i < end; i++) {
      const event = this.#applied(changes[i]!)
      indexes.add(event)
      this.#bytes += bytesOf(event)
      this.#events.push(event)
    }
    return end < changes.length
  }

  /** Whether it follows these contents, with the indexes of that edition. */
  isOf({ root, revision }: Snapshot, edition: number): boolean {
    const isSame = root === this.#base.root && edition === this.indexes.edition
    return isSame && revision < this.revision
  }

  /** Applies what is left. */
  finish(): Finished {
    this.step(Infinity)
    return { tree: this.#edit, events: this.#events, bytes: this.#bytes }
  }

  #applied(change: Change): Event {
    const { revision } = this
    const key = change.type === 'put' ? change.entry.key : change.key
    this.#checkOnce(key)
    if (change.type === 'put') {
      const { entry } = change
      if (entry.modRevision !== revision) {
        throw new CacheError(
          'conflict',
          `key ${textFromKey(key)} of batch revision ${revision} has revision ${entry.modRevision}`,
        )
      }
      const before = this.#edit.put(entry)
      if (before !== undefined) entry.shareKey(before.key)
      return { key: entry.key, before, after: entry }
    }
    const before = this.#edit.delete(key)
    if (before === undefined) {
      throw new CacheError(
        'conflict',
        `batch revision ${revision} deletes key ${textFromKey(key)}, which is not there`,
      )
    }
    return { key: before.key, before, after: undefined }
  }

  #checkOnce(key: Key): void {
    if (this.#keys === undefined) return
    if (this.#keys.has(key)) {
      const text = `batch revision ${this.revision} changes key ${textFromKey(key)} twice`
      throw new CacheError('conflict', text)
    }
    this.#keys.add(key)
  }
}

interface Finished {
  readonly tree: Pick<BTree<KeyValue>, 'root' | 'height'>
  readonly events: readonly Event[]
  /** The size for the history. */
  readonly bytes: number
}
