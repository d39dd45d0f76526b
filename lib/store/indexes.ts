/** The secondary indexes of one keyspace: they are added, built in slices (index-building.ts),
 *  updated with every batch, and dropped. When an index has been built, it is complete for the
 *  latest revision and for every later one. */

import { CacheError, type Key } from '@watchglass/base'
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
    this.#states.set(name, {
      termsOf,
      building: new IndexBuilding(termsOf),
      tree: BTree.empty(),
      bytes: 0,
    })
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

  /** Applies the events of one batch. If `termsOf` throws, nothing has changed. */
  apply(events: readonly Event[]): void {
    if (this.#states.size === 0) return
    const all: [IndexState, TermChanges[]][] = []
    for (const state of this.#states.values()) {
      const changes = changesOf(state, events)
      if (changes.length > 0) all.push([state, changes])
    }
    for (const [state, changes] of all) change(state, changes)
    if (all.some(([{ building }]) => building === undefined)) this.#publish()
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

/** The changes that one batch makes to an index. */
function changesOf({ termsOf, building }: IndexState, events: readonly Event[]): TermChanges[] {
  const changes: TermChanges[] = []
  for (const { key, before, after } of events) {
    if (building?.hasRead(key) === false) continue
    const old = before === undefined ? [] : termsOf(before)
    const current = after === undefined ? [] : termsOf(after)
    if (isSame(old, current)) continue
    changes.push({
      gone: old.filter(term => !current.includes(term)).map(term => indexKey(term, key)),
      added: current.filter(term => !old.includes(term)).map(term => new IndexEntry(term, key)),
    })
  }
  return changes
}

function change(state: IndexState, changes: readonly TermChanges[]): void {
  const { building } = state
  const edit = building === undefined ? new TreeEdit(state.tree) : undefined
  for (const one of changes) {
    for (const place of one.gone) {
      edit?.delete(place)
      state.bytes -= weightOf(place)
    }
    for (const entry of one.added) {
      edit?.put(entry)
      state.bytes += weightOf(entry.key)
    }
    building?.changed(one)
  }
  if (edit !== undefined) state.tree = edit.tree()
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((term, i) => term === b[i])
}
