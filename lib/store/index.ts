/** The secondary indexes of one keyspace: they are added, built in slices, updated with every batch, and dropped.
 *
 *  ```
 *  keys:   a ......... position ......... z
 *          indexed    |  not yet
 *  ```
 *
 *  Building walks the latest contents in key order. Of a batch that arrives meanwhile, the keys before the position are indexed; the walk
 *  will reach the others. So no old snapshot is held and nothing is replayed. When the walk ends, the index is complete for the latest
 *  revision and for every later one. */

import { CacheError } from '../base/errors.ts'
import { type Key, keyAfter, minKey } from '../base/keys.ts'
import { BTree } from './btree.ts'
import { TreeEdit } from './btree-edit.ts'
import type { Event, KeyValue } from './event.ts'
import { IndexEntry, indexKey, type IndexTrees } from './index-snapshot.ts'

/** The terms of an entry. They must depend on the entry alone, and the function must not throw. */
export type TermsOf = (entry: KeyValue) => readonly string[]

interface IndexState {
  readonly termsOf: TermsOf
  /** Where the walk continues; `undefined` when the index is complete. */
  position: Key | undefined
  tree: BTree<IndexEntry>
  bytes: number
}

/** What a term of an entry takes beside the characters of its key: objects, and a share of the tree. */
const entryBytes = 120

const noTrees: IndexTrees = new Map()

export class Indexes {
  readonly #states = new Map<string, IndexState>()
  #trees: IndexTrees = noTrees

  /** The complete indexes as of the last batch. */
  get trees(): IndexTrees {
    return this.#trees
  }

  /** The memory that all take. */
  get bytes(): number {
    let sum = 0
    for (const { bytes } of this.#states.values()) sum += bytes
    return sum
  }

  /** True when an index is not complete yet. */
  get isBuilding(): boolean {
    for (const { position } of this.#states.values()) if (position !== undefined) return true
    return false
  }

  /** True when there is an index of that name, and it is not complete yet. */
  isBuildingOf(name: string): boolean {
    return this.#states.get(name)?.position !== undefined
  }

  /** Adds an index; `build` completes it. */
  add(name: string, termsOf: TermsOf): void {
    if (this.#states.has(name)) {
      throw new CacheError('invalid_request', `there is an index ${name} already`)
    }
    this.#states.set(name, { termsOf, position: minKey, tree: BTree.empty(), bytes: 0 })
  }

  /** Drops an index. False if there was none of that name. */
  drop(name: string): boolean {
    const isKnown = this.#states.delete(name)
    if (this.#trees.has(name)) this.#publish()
    return isKnown
  }

  /** Starts again, for new contents. */
  reset(): void {
    for (const state of this.#states.values()) {
      state.position = minKey
      state.tree = BTree.empty()
      state.bytes = 0
    }
    this.#trees = noTrees
  }

  /** Indexes up to `maxEntries` more of the latest contents. O(log n) and one call of `termsOf` for each. True when an index has
   *  become complete, so that `trees` has changed. */
  build(contents: BTree<KeyValue>, maxEntries: number): boolean {
    let rest = maxEntries
    let isChanged = false
    for (const state of this.#states.values()) {
      if (state.position === undefined) continue
      if (rest === 0) break
      const entries = contents.range({ start: state.position, end: undefined }, { limit: rest })
      const edit = new TreeEdit(state.tree)
      for (const entry of entries) {
        state.bytes += addTerms(edit, entry.key, state.termsOf(entry), [])
      }
      state.tree = edit.tree()
      const isComplete = entries.length < rest
      rest -= entries.length
      state.position = isComplete ? undefined : keyAfter(entries[entries.length - 1]!.key)
      if (isComplete) isChanged = true
    }
    if (isChanged) this.#publish()
    return isChanged
  }

  /** Applies the events of one batch. If `termsOf` throws, nothing has changed. */
  apply(events: readonly Event[]): void {
    if (this.#states.size === 0) return
    const changed: [IndexState, Changed][] = []
    for (const state of this.#states.values()) {
      const change = applyTo(state, events)
      if (change !== undefined) changed.push([state, change])
    }
    for (const [state, change] of changed) Object.assign(state, change)
    if (changed.some(([state]) => state.position === undefined)) this.#publish()
  }

  #publish(): void {
    const trees = new Map<string, BTree<IndexEntry>>()
    for (const [name, { position, tree }] of this.#states) {
      if (position === undefined) trees.set(name, tree)
    }
    this.#trees = trees.size === 0 ? noTrees : trees
  }
}

type Changed = Pick<IndexState, 'tree' | 'bytes'>

/** An index after the events of one batch; undefined when no term has changed. */
function applyTo(state: IndexState, events: readonly Event[]): Changed | undefined {
  const { termsOf, position } = state
  let edit: TreeEdit<IndexEntry> | undefined
  let { bytes } = state
  for (const { key, before, after } of events) {
    if (position !== undefined && key >= position) continue
    const old = before === undefined ? [] : termsOf(before)
    const current = after === undefined ? [] : termsOf(after)
    if (isSame(old, current)) continue
    edit ??= new TreeEdit(state.tree)
    for (const term of old) {
      if (current.includes(term)) continue
      const gone = indexKey(term, key)
      edit.delete(gone)
      bytes -= entryBytes + gone.length
    }
    bytes += addTerms(edit, key, current, old)
  }
  return edit === undefined ? undefined : { tree: edit.tree(), bytes }
}

/** Returns the memory that the new ones take. */
function addTerms(
  edit: TreeEdit<IndexEntry>,
  key: Key,
  terms: readonly string[],
  old: readonly string[],
): number {
  let bytes = 0
  for (const term of terms) {
    if (old.includes(term)) continue
    const entry = new IndexEntry(term, key)
    edit.put(entry)
    bytes += entryBytes + entry.key.length
  }
  return bytes
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((term, i) => term === b[i])
}
