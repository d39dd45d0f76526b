/** An index that is being built, in slices: first the terms of all entries are read, in the order
 *  of keys, then its tree is made.
 *
 *  ```
 *  read:   a ......... position ......... z     make: run of term a | run of term b | ...
 *          read       |  not yet
 *  ```
 *
 *  Each term has a run of the entries that have it, which is in order because the reading is. So
 *  the tree is loaded in order, which takes a tenth of the time of putting a million entries into
 *  it one by one. Of a batch that arrives meanwhile, keys that are still to be read are left to the
 *  reading; changes of others are noted and made in the end. So no old snapshot is held. */

import { type Key, keyAfter, minKey, notedEffort } from '@watchglass/base'
import { BTreeBuilder } from './btree-builder.ts'
import { TreeEdit } from './btree-edit.ts'
import { BTree } from './btree.ts'
import type { KeyValue } from './event.ts'
import { IndexEntry, type TermChanges, type TermsOf, termPrefix } from './index-snapshot.ts'

/** Making the tree takes so much less time for an entry than reading its terms. */
const madeForRead = 4

/** The effort after which no more entries are read at once: about a millisecond. */
const readEffort = 1_000

/** The entries of a term, in the order of keys. */
interface Run {
  readonly key: Key
  entries: IndexEntry[]
}

export class IndexBuilding {
  readonly #termsOf: TermsOf
  /** Key at which the reading continues; `undefined` once everything is read. */
  #position: Key | undefined = minKey
  readonly #runs = new Map<string, Run>()
  /** The runs in the order of their terms. */
  #ordered: BTree<Run> = BTree.empty()
  #making: Iterator<Run> | undefined = undefined
  #run: Run | undefined = undefined
  #made = 0
  readonly #builder = new BTreeBuilder<IndexEntry>()
  /** The tree, but for changes that are still to be made. */
  #tree: BTree<IndexEntry> | undefined = undefined
  #late: TermChanges[] = []

  constructor(termsOf: TermsOf) {
    this.#termsOf = termsOf
  }

  /** Whether the reading has passed a key, so that its changes must be told. */
  hasRead(key: Key): boolean {
    return this.#position === undefined || key < this.#position
  }

  /** The terms of a key that was read have changed. */
  changed(changes: TermChanges): void {
    this.#late.push(changes)
  }

  /** Reads the terms of up to `maxEntries` more entries, fewer where that takes long; how many it
   *  was. `added` is told of each new entry of the index. */
  read(contents: BTree<KeyValue>, maxEntries: number, added: (entry: IndexEntry) => void): number {
    if (this.#position === undefined) return 0
    const range = { start: this.#position, end: undefined }
    const entries = contents.range(range, { limit: maxEntries })
    const begunAt = notedEffort()
    let count = 0
    let edit: TreeEdit<Run> | undefined
    for (const entry of entries) {
      if (notedEffort() - begunAt > readEffort) break
      count++
      for (const term of this.#termsOf(entry)) {
        let run = this.#runs.get(term)
        if (run === undefined) {
          run = { key: termPrefix(term), entries: [] }
          this.#runs.set(term, run)
          edit ??= new TreeEdit(this.#ordered)
          edit.put(run)
        }
        if (run.entries.at(-1)?.target === entry.key) continue
        const made = new IndexEntry(term, entry.key)
        run.entries.push(made)
        added(made)
      }
    }
    if (edit !== undefined) this.#ordered = edit.tree()
    const isLast = count === entries.length && count < maxEntries
    this.#position = isLast ? undefined : keyAfter(entries[count - 1]!.key)
    return count
  }

  /** Makes some more of the tree, as much as takes as long as reading `maxEntries`. The tree, once
   *  it is complete. */
  make(maxEntries: number): BTree<IndexEntry> | undefined {
    if (this.#position !== undefined) return undefined
    let left = maxEntries * madeForRead
    if (this.#tree === undefined) {
      left = this.#load(left)
      if (left === 0) return undefined
      this.#tree = this.#builder.finish()
    }
    const edit = new TreeEdit(this.#tree)
    const some = this.#late.splice(0, left)
    for (const { gone, added } of some) {
      for (const key of gone) edit.delete(key)
      for (const entry of added) edit.put(entry)
    }
    this.#tree = edit.tree()
    return this.#late.length === 0 ? this.#tree : undefined
  }

  /** Loads up to so many entries, in order; how many more it could have been. 0 means that there
   *  are more. */
  #load(maxEntries: number): number {
    this.#making ??= this.#ordered.iterate({ start: minKey, end: undefined })[Symbol.iterator]()
    for (let left = maxEntries; left > 0; left--) {
      while (this.#run === undefined || this.#made === this.#run.entries.length) {
        if (this.#run !== undefined) this.#run.entries = []
        const next = this.#making.next()
        if (next.done === true) return left
        this.#run = next.value
        this.#made = 0
      }
      this.#builder.add(this.#run.entries[this.#made++]!)
    }
    return 0
  }
}
