/** The same work on our keyspace and on a tree of the package `sorted-btree`, with the same keys,
 *  comparator and entries. Both hold the contents of the last so many changes: the keyspace as its
 *  history, the other tree as a ring of clones. */

import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js'
import { compareKeys, type Key, type KeyRange } from '../../lib/base/keys.ts'
import { type Revision, revision } from '../../lib/base/revision.ts'
import { BTreeBuilder } from '../../lib/store/btree-builder.ts'
import type { BTree } from '../../lib/store/btree.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'

/** Work that both can do. Everything but `changes` returns a number that both must agree on. */
export interface Contender {
  /** One batch for each entry. */
  change(entries: readonly KeyValue[]): void
  /** Point reads of the contents `back` changes ago; 0 are the newest. */
  read(keys: readonly Key[], back: number): number
  /** Reads the entries of each range into an array, of the contents `back` changes ago. */
  scan(ranges: readonly Bounded[], back: number): number
  /** Reads every entry. */
  scanAll(): number
  count(ranges: readonly Bounded[]): number
}

/** Neither tree is asked for a range that is not bounded. */
export type Bounded = KeyRange & { readonly end: Key }

export class Ours implements Contender {
  readonly keyspace: Keyspace
  #revision = 1

  constructor(entries: readonly KeyValue[], held: number) {
    const builder = new BTreeBuilder<KeyValue>()
    for (const entry of entries) builder.add(entry)
    this.keyspace = new Keyspace({ maxBatches: held, maxAgeMs: Infinity, maxBytes: Infinity })
    this.keyspace.restore(builder.finish(), revision(1))
  }

  get tree(): BTree<KeyValue> {
    return this.keyspace.latest()
  }

  change(entries: readonly KeyValue[]): void {
    for (const entry of entries) {
      this.#revision++
      this.keyspace.apply(entry.modRevision, [{ type: 'put', entry }], this.#revision)
    }
  }

  read(keys: readonly Key[], back: number): number {
    const snapshot = this.keyspace.at(this.#back(back))
    let sum = 0
    for (const key of keys) sum += snapshot.get(key)?.version ?? -1
    return sum
  }

  scan(ranges: readonly Bounded[], back: number): number {
    const snapshot = this.keyspace.at(this.#back(back))
    let sum = 0
    for (const range of ranges) sum += snapshot.range(range).length
    return sum
  }

  scanAll(): number {
    let sum = 0
    for (const { entries, from, to } of this.tree.leaves({ start: '' as Key, end: undefined })) {
      for (let i = from; i < to; i++) sum += entries[i]!.version
    }
    return sum
  }

  count(ranges: readonly Bounded[]): number {
    const snapshot = this.keyspace.latest()
    let sum = 0
    for (const range of ranges) sum += snapshot.count(range)
    return sum
  }

  #back(back: number): Revision {
    return revision(this.keyspace.revision - back)
  }
}

type SortedBTree = ReturnType<typeof bulkLoad<Key, KeyValue>>

export class Theirs implements Contender {
  readonly #tree: SortedBTree
  readonly #held: SortedBTree[]
  #next = 0

  constructor(keys: readonly Key[], entries: readonly KeyValue[], held: number) {
    this.#tree = bulkLoad([...keys], [...entries], 32, compareKeys)
    this.#held = Array.from({ length: held + 1 }, () => this.#tree)
  }

  change(entries: readonly KeyValue[]): void {
    for (const entry of entries) {
      this.#tree.set(entry.key, entry)
      this.#next = (this.#next + 1) % this.#held.length
      this.#held[this.#next] = this.#tree.clone()
    }
  }

  read(keys: readonly Key[], back: number): number {
    const tree = this.#back(back)
    let sum = 0
    for (const key of keys) sum += tree.get(key)?.version ?? -1
    return sum
  }

  scan(ranges: readonly Bounded[], back: number): number {
    const tree = this.#back(back)
    let sum = 0
    for (const { start, end } of ranges) {
      const found: KeyValue[] = []
      tree.forRange(start, end, false, (_, entry) => {
        found.push(entry)
      })
      sum += found.length
    }
    return sum
  }

  scanAll(): number {
    let sum = 0
    this.#tree.forEachPair((_, entry) => {
      sum += entry.version
    })
    return sum
  }

  count(ranges: readonly Bounded[]): number {
    let sum = 0
    for (const { start, end } of ranges) sum += this.#tree.forRange(start, end, false)
    return sum
  }

  #back(back: number): SortedBTree {
    const { length } = this.#held
    return back === 0 ? this.#tree : this.#held[(this.#next - back + length) % length]!
  }
}
