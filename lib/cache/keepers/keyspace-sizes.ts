/** The number of bytes that the contents of each keyspace take. Changes are added up; what has been
 *  read anew is counted, in slices. */

import {
  type CancelTimer,
  type Clock,
  type Key,
  prefixRange,
  repeat,
  Slice,
} from '@watchglass/base'
import type { Batch, Keyspace, KeyValue } from '@watchglass/store'
import type { Follower } from './followers.ts'

export interface KeyspaceSizesOptions {
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** In how many trees each entry is: values are there once. 1 if it is left out. */
  readonly trees?: number | undefined
  readonly clock: Clock
}

/** An entry's object, its key, and its share of the tree: bench/store, at 1,000,000 keys. */
const entryBytes = 240
const intervalMs = 1_000
/** Counting looks at the clock after this many entries. */
const lookEntries = 256
/** Counting is in no hurry. */
const sliceMs = 2

export class KeyspaceSizes implements Follower {
  readonly #options: KeyspaceSizesOptions
  readonly #bytes = new Map<Key, number>()
  readonly #uncounted = new Set<Key>()
  #counting: Promise<void> | undefined
  #cancel: CancelTimer = () => {}

  constructor(options: KeyspaceSizesOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancel = repeat(this.#options.clock, intervalMs, () => this.count())
  }

  stop(): void {
    this.#cancel()
  }

  bytesOf(keyspace: Key): number {
    return this.#bytes.get(keyspace) ?? 0
  }

  /** Number of keyspaces whose bytes are kept. */
  get size(): number {
    return this.#bytes.size
  }

  /** The bytes of all keyspaces. */
  get totalBytes(): number {
    let total = 0
    for (const bytes of this.#bytes.values()) total += bytes
    return total
  }

  /** Forgets the size of a keyspace that is no longer mirrored. */
  forget(keyspace: Key): void {
    this.#bytes.delete(keyspace)
  }

  applied(keyspace: Key, { events }: Batch): void {
    let change = 0
    for (const { before, after } of events) change += this.#weightOf(after) - this.#weightOf(before)
    this.#bytes.set(keyspace, this.bytesOf(keyspace) + change)
  }

  reset(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  /** Counts what has been read anew. */
  count(): Promise<void> {
    this.#counting ??= this.#countAll().finally(() => (this.#counting = undefined))
    return this.#counting
  }

  async #countAll(): Promise<void> {
    for (const keyspace of this.#uncounted) {
      this.#uncounted.delete(keyspace)
      await this.#count(keyspace)
    }
  }

  /** Begins at zero, so that changes during the count are counted once. */
  async #count(keyspace: Key): Promise<void> {
    const { storeOf, clock } = this.#options
    const store = storeOf(keyspace)
    if (store === undefined) {
      this.forget(keyspace)
      return
    }
    this.#bytes.set(keyspace, 0)
    const slice = new Slice(clock, sliceMs)
    let bytes = 0
    let entries = 0
    for (const entry of store.latest().iterate(prefixRange(keyspace))) {
      bytes += this.#weightOf(entry)
      if (++entries % lookEntries === 0 && slice.isOver) await slice.next()
    }
    this.#bytes.set(keyspace, this.bytesOf(keyspace) + bytes)
  }

  #weightOf(entry: KeyValue | undefined): number {
    if (entry === undefined) return 0
    return (this.#options.trees ?? 1) * (entryBytes + entry.key.length) + entry.valueLength
  }
}
