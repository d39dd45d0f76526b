/** Adds secondary indexes to keyspaces for the selectors that are asked for. lib/kube/selectors/index-policy.ts decides which; they are
 *  built in slices, between other work. */

import type { Clock } from '../base/clock.ts'
import type { Key } from '../base/keys.ts'
import { Slice } from '../base/slice.ts'
import { indexTerms, indexUses } from '../kube/selectors/index-choice.ts'
import { IndexPolicy } from '../kube/selectors/index-policy.ts'
import type { ListPlan } from '../kube/read-plan.ts'
import type { MakeReader } from '../kube/selectors/filter.ts'
import type { Keyspace } from '../store/keyspace.ts'
import type { Follower } from './followers.ts'

/** Entries that are indexed before the clock is read: well below a millisecond. Slices are as long as elsewhere: until the index is
 *  complete, each list that would use it scans everything, which takes much longer in total. */
const sliceEntries = 100

interface Kept {
  readonly store: Keyspace
  readonly policy: IndexPolicy
}

export class IndexKeeper implements Follower {
  readonly #storeOf: (keyspace: Key) => Keyspace | undefined
  readonly #clock: Clock
  readonly #kept = new Map<Key, Kept>()
  readonly #building = new Set<Keyspace>()

  constructor(storeOf: (keyspace: Key) => Keyspace | undefined, clock: Clock) {
    this.#storeOf = storeOf
    this.#clock = clock
  }

  /** Notes a list that an index could answer. */
  asked(plan: ListPlan, makeReader: MakeReader): void {
    const uses = indexUses(plan)
    if (uses.length === 0) return
    const kept = this.#keptFor(plan.keyspace)
    if (kept === undefined) return
    const { store, policy } = kept
    for (const { type, name } of policy.asked(uses.map(use => use.name))) {
      if (type === 'drop') {
        store.dropIndex(name)
        continue
      }
      const terms = indexTerms(name, plan.resource, makeReader)
      if (terms !== undefined) store.addIndex(name, terms)
    }
    this.#build(store)
  }

  /** The indexes of a keyspace that was read again are built anew. */
  reset(keyspace: Key): void {
    const kept = this.#kept.get(keyspace)
    if (kept !== undefined) this.#build(kept.store)
  }

  /** What fields mean has changed in these keyspaces. */
  forget(keyspaces: readonly Key[]): void {
    for (const keyspace of keyspaces) {
      const kept = this.#kept.get(keyspace)
      if (kept === undefined) continue
      this.#kept.delete(keyspace)
      for (const name of kept.policy.names) kept.store.dropIndex(name)
    }
  }

  /** A keyspace that was dropped and has come back is another store. */
  #keptFor(keyspace: Key): Kept | undefined {
    const store = this.#storeOf(keyspace)
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
    const slice = new Slice(this.#clock)
    while (store.buildIndexes(sliceEntries)) if (slice.isOver) await slice.next()
    this.#building.delete(store)
  }
}
