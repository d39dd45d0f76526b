/** Adds secondary indexes to keyspaces for the selectors that are asked for.
 *  lib/kube/selectors/index-policy.ts decides which; they are built in slices, between other work.
 *
 *  Lists that an index being built will answer wait for it: building it looks at every object once,
 *  and each of them would do so, too. */

import { type CancelTimer, type Clock, type Key, prefixRange, Slice } from '@watchglass/base'
import {
  entriesToLookAt,
  indexTerms,
  indexUses,
  type ListPlan,
  type MakeReader,
} from '@watchglass/kube'
import type { Keyspace } from '@watchglass/store'
import { IndexPolicy } from './index-policy.ts'
import type { Follower } from './followers.ts'

/** Entries that are indexed before the clock is read: well below a millisecond. Slices are as long
 *  as elsewhere: until the index is complete, each list that would use it scans everything, which
 *  takes much longer in total. */
const sliceEntries = 100

interface Kept {
  readonly store: Keyspace
  readonly policy: IndexPolicy
}

/** A list of fewer entries than this is scanned, unless they are a good part of the keyspace: an
 *  index holds all namespaces, and whoever may list one of them must not make it of all. */
const rangeMinEntries = 10_000
const rangeMinShare = 1 / 8

/** A list does not wait longer than this: then it looks at everything itself. A million objects are
 *  indexed in a few seconds. */
const waitMaxMs = 30_000

/** The expected size of a new index entry: each entry once, with its key and a label's value. Most
 *  labels are on a part of the objects. */
const expectedEntryBytes = 240

export interface IndexKeeperOptions {
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly clock: Clock
  /** Whether there is memory for as many bytes more. */
  readonly fits?: ((bytes: number) => boolean) | undefined
}

/** The user who has asked, and how objects are read. */
export interface AskedBy {
  readonly user?: string | undefined
  readonly makeReader: MakeReader
}

export class IndexKeeper implements Follower {
  readonly #options: IndexKeeperOptions
  readonly #kept = new Map<Key, Kept>()
  readonly #building = new Set<Keyspace>()
  readonly #waiting = new Set<Waiting>()

  constructor(options: IndexKeeperOptions) {
    this.#options = options
  }

  /** The memory that all indexes take. */
  get bytes(): number {
    let sum = 0
    for (const { store } of this.#kept.values()) sum += store.indexBytes
    return sum
  }

  /** Drops indexes until they take at most so much: of the keyspace with the most, those that were
   *  used least recently. */
  dropTo(bytes: number): void {
    const largest = [...this.#kept.values()].sort((a, b) => b.store.indexBytes - a.store.indexBytes)
    for (const { store, policy } of largest) {
      while (this.bytes > bytes) {
        const name = policy.shrink()
        if (name === undefined) break
        this.#dropIndex(store, name)
      }
    }
  }

  /** Notes a list that an index could answer. Resolves when the list need not wait any more for one
   *  that is being built; undefined if none is, or if looking at what the list asks for is less
   *  work. */
  asked(plan: ListPlan, { user, makeReader }: AskedBy): Promise<void> | undefined {
    const uses = indexUses(plan)
    if (uses.length === 0) return undefined
    const kept = this.#keptFor(plan.keyspace)
    if (kept === undefined) return undefined
    const { store, policy } = kept
    const all = store.latest().count(prefixRange(plan.keyspace))
    const asked = store.latest().count(plan.range)
    if (asked < rangeMinEntries && asked < all * rangeMinShare) return undefined
    const { fits = () => true } = this.#options
    const names = uses
      .map(use => use.name)
      .filter(name => policy.names.includes(name) || fits(all * expectedEntryBytes))
    for (const { type, name } of policy.asked(names, user)) {
      if (type === 'drop') {
        this.#dropIndex(store, name)
        continue
      }
      const terms = indexTerms(name, plan.resource, makeReader)
      if (terms !== undefined) store.addIndex(name, terms)
    }
    this.#build(store)
    const isWorthwhile = asked >= rangeMinEntries && asked >= all / 2
    const isHelped = entriesToLookAt(store.latest(), plan.range, plan) < asked
    if (!isWorthwhile || isHelped) return undefined
    const building = names.find(name => store.isIndexBuilding(name))
    return building === undefined ? undefined : this.#untilBuilt(store, building)
  }

  /** The indexes of a keyspace that was read again are built anew. */
  reset(keyspace: Key): void {
    const kept = this.#kept.get(keyspace)
    if (kept !== undefined) this.#build(kept.store)
  }

  /** Drops the indexes of keyspaces whose fields have changed their meaning. */
  forget(keyspaces: readonly Key[]): void {
    for (const keyspace of keyspaces) {
      const kept = this.#kept.get(keyspace)
      if (kept === undefined) continue
      this.#kept.delete(keyspace)
      for (const name of kept.policy.names) this.#dropIndex(kept.store, name)
    }
  }

  /** A keyspace that was dropped and has come back is another store. */
  #keptFor(keyspace: Key): Kept | undefined {
    const store = this.#options.storeOf(keyspace)
    if (store === undefined) return undefined
    const known = this.#kept.get(keyspace)
    if (known?.store === store) return known
    const kept = { store, policy: new IndexPolicy() }
    this.#kept.set(keyspace, kept)
    return kept
  }

  #build(store: Keyspace): void {
    if (!store.isIndexing || this.#building.has(store)) return
    this.#building.add(store)
    void this.#buildAll(store)
  }

  async #buildAll(store: Keyspace): Promise<void> {
    const { clock } = this.#options
    // Not in the turn of the request that asks for it.
    await clock.yield()
    const slice = new Slice(clock)
    while (store.buildIndexes(sliceEntries)) {
      if (!slice.isOver) continue
      this.#wake()
      await slice.next()
    }
    this.#building.delete(store)
    // Those who have waited go on in a turn of their own.
    await slice.next()
    this.#wake()
  }

  #dropIndex(store: Keyspace, name: string): void {
    store.dropIndex(name)
    this.#wake()
  }

  #untilBuilt(store: Keyspace, name: string): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        cancel()
        this.#waiting.delete(waiting)
        resolve()
      }
      const waiting: Waiting = { store, name, end }
      const cancel: CancelTimer = this.#options.clock.setTimer(waitMaxMs, end)
      this.#waiting.add(waiting)
    })
  }

  /** Lets lists go on whose index is complete, or will not come. */
  #wake(): void {
    for (const { store, name, end } of this.#waiting) if (!store.isIndexBuilding(name)) end()
  }
}

/** A list that waits for an index. */
interface Waiting {
  readonly store: Keyspace
  readonly name: string
  readonly end: () => void
}
