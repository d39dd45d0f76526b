/** The secondary indexes of one keyspace: they are added, built in slices (index-building.ts),
 *  updated with every batch, and dropped. When an index has been built, it is complete for the
 *  latest revision and for every later one. */

import { assert, CacheError, type Key } from '@watchglass/base'
import { BTree } from './btree.ts'
import { TreeEdit } from './btree-edit.ts'
import type { Event, KeyValue } from './event.ts'
import { IndexBuilding } from './index-building.ts'
import {
  IndexEntry,
  indexKey,
  type IndexTrees,
  type TermChanges,
  type TermsOf,
} from './index-snapshot.ts'

interface IndexState {
  readonly termsOf: TermsOf
  /** `undefined` when the index is complete. */
  building: IndexBuilding | undefined
  tree: BTree<IndexEntry>
  bytes: number
}

/** The bytes that a term of an entry takes beside the characters of its key: objects, and a share
 *  of the tree. */
const entryBytes = 120

const noTrees: IndexTrees = new Map()
const none: readonly IndexState[] = []

export class Indexes {
  readonly #states = new Map<string, IndexState>()
  #trees: IndexTrees = noTrees
  #edition = 0

  /** Rises with every change of an index but those of `take`. */
  get edition(): number {
    return this.#edition
  }

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
    for (const { building } of this.#states.values()) if (building !== undefined) return true
    return false
  }

  /** True when there is an index of that name, and it is not complete yet. */
  isBuildingOf(name: string): boolean {
    return this.#states.get(name)?.building !== undefined
  }

  /** Adds an index; `build` completes it. */
  add(name: string, termsOf: TermsOf): void {
    if (this.#states.has(name)) {
      throw new CacheError('invalid_request', `there is an index ${name} already`)
    }
    this.#edition++
    this.#states.set(name, {
      termsOf,
      building: new IndexBuilding(termsOf),
      tree: BTree.empty(),
      bytes: 0,
    })
  }

  /** Drops an index. False if there was none of that name. */
  drop(name: string): boolean {
    this.#edition++
    const isKnown = this.#states.delete(name)
    if (this.#trees.has(name)) this.#publish()
    return isKnown
  }

  /** Starts again, for new contents. */
  reset(): void {
    this.#edition++
    for (const state of this.#states.values()) {
      state.building = new IndexBuilding(state.termsOf)
      state.tree = BTree.empty()
      state.bytes = 0
    }
    this.#trees = noTrees
  }

  /** Indexes up to `maxEntries` more of the latest contents: one call of `termsOf` for each. True
   *  when an index has become complete, so that `trees` has changed. */
  build(contents: BTree<KeyValue>, maxEntries: number): boolean {
    let rest = maxEntries
    let isChanged = false
    for (const state of this.#states.values()) {
      const { building } = state
      if (building === undefined) continue
      if (rest === 0) break
      this.#edition++
      rest -= building.read(contents, rest, entry => (state.bytes += weightOf(entry.key)))
      const tree = building.make(maxEntries)
      if (tree === undefined) continue
      state.tree = tree
      state.building = undefined
      isChanged = true
    }
    if (isChanged) this.#publish()
    return isChanged
  }

  /** Begins to apply the events of one batch. Nothing has changed before `take`. */
  edit(): IndexesEdit {
    const states = this.#states.size === 0 ? none : [...this.#states.values()]
    return new IndexesEdit(states, this.#edition)
  }

  /** Takes over all changes of a batch. The edition is that in which it was begun. */
  take({ changed, edition }: IndexesEdit): void {
    assert(edition === this.#edition, 'the indexes are those with which the batch was begun')
    let isChanged = false
    for (const { state, tree, bytes, changes } of changed) {
      state.bytes += bytes
      if (tree === undefined) for (const one of changes) state.building?.changed(one)
      else {
        state.tree = tree.tree()
        isChanged = true
      }
    }
    if (isChanged) this.#publish()
  }

  #publish(): void {
    const trees = new Map<string, BTree<IndexEntry>>()
    for (const [name, { building, tree }] of this.#states) {
      if (building === undefined) trees.set(name, tree)
    }
    this.#trees = trees.size === 0 ? noTrees : trees
  }
}

function weightOf(place: Key): number {
  return entryBytes + place.length
}

/** One index, with the changes of a batch. */
interface IndexEdit {
  readonly state: IndexState
  /** The index with the changes; undefined while it is being built. */
  readonly tree: TreeEdit<IndexEntry> | undefined
  /** The changes for one that is being built. */
  readonly changes: TermChanges[]
  bytes: number
}

/** All indexes of a keyspace with the changes of a batch, which are made event by event beside what
 *  readers see. */
export class IndexesEdit {
  readonly edition: number
  readonly #states: readonly IndexState[]
  /** The edits of indexes that the batch changes. */
  readonly changed: IndexEdit[] = []

  constructor(states: readonly IndexState[], edition: number) {
    this.edition = edition
    this.#states = states
  }

  add(event: Event): void {
    for (const state of this.#states) {
      const changes = changesOf(state, event)
      if (changes !== undefined) change(this.#editOf(state), changes)
    }
  }

  #editOf(state: IndexState): IndexEdit {
    const known = this.changed.find(edit => edit.state === state)
    if (known !== undefined) return known
    const tree = state.building === undefined ? new TreeEdit(state.tree) : undefined
    const edit = { state, tree, changes: [], bytes: 0 }
    this.changed.push(edit)
    return edit
  }
}

/** The changes that one event makes to an index. */
function changesOf(
  { termsOf, building }: IndexState,
  { key, before, after }: Event,
): TermChanges | undefined {
  if (building?.hasRead(key) === false) return undefined
  const old = before === undefined ? [] : termsOf(before)
  const current = after === undefined ? [] : termsOf(after)
  if (isSame(old, current)) return undefined
  return {
    gone: old.filter(term => !current.includes(term)).map(term => indexKey(term, key)),
    added: current.filter(term => !old.includes(term)).map(term => new IndexEntry(term, key)),
  }
}

function change(edit: IndexEdit, changes: TermChanges): void {
  const { tree } = edit
  for (const place of changes.gone) {
    tree?.delete(place)
    edit.bytes -= weightOf(place)
  }
  for (const entry of changes.added) {
    tree?.put(entry)
    edit.bytes += weightOf(entry.key)
  }
  if (tree === undefined) edit.changes.push(changes)
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((term, i) => term === b[i])
}
