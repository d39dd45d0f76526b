/** Deletes objects of which all owners are gone, and does what the finalizers `foregroundDeletion`
 *  and `orphan` say, as the garbage collector of Kubernetes does.
 *
 *  An owner is gone if its deletion was seen here. One that was never there is not taken for
 *  deleted, unlike upstream: recordings and made-up data leave owners out, and their dependents
 *  must stay. */

import { type Key, Slice, type SliceClock } from '@watchglass/base'
import type { Event } from '@watchglass/store'
import type { ClusterApi, ApiPlace, Propagation } from '../runtime/cluster-api.ts'
import { Dependents } from './dependents.ts'
import { type ObjectFacts, type StoredOwner, factsOf } from './object-facts.ts'

/** The number of deleted owners that are remembered for dependents that are created late. */
const deletedMax = 10_000

const foreground = 'foregroundDeletion'
const orphan = 'orphan'

export class GarbageCollector {
  readonly #cluster: ClusterApi
  readonly #lookAt: (key: Key) => void
  readonly #dependents = new Dependents()
  /** Uids, the oldest first. */
  readonly #deleted = new Set<string>()
  /** Owners that wait for their dependents to go, by uid. */
  readonly #waiting = new Map<string, Key>()
  readonly #slice: Slice

  /** `lookAt`: the object is to be passed to `work` soon. */
  constructor(cluster: ClusterApi, clock: SliceClock, lookAt: (key: Key) => void) {
    this.#cluster = cluster
    this.#slice = new Slice(clock)
    this.#lookAt = lookAt
  }

  /** An object that was there before. */
  found(key: Key, facts: ObjectFacts): void {
    this.#note(key, facts)
  }

  /** The contents of a keyspace are others from now on. */
  forget(keyspace: Key): void {
    this.#dependents.forget(keyspace)
  }

  changed({ key, before, after }: Event): void {
    const facts = after === undefined ? undefined : factsOf(after)
    if (facts !== undefined) {
      this.#note(key, facts)
      if (facts.owners.some(({ uid }) => this.#deleted.has(uid))) this.#lookAt(key)
      if (this.#waiting.size > 0 && before !== undefined) this.#wakeOwners(factsOf(before))
      return
    }
    this.#dependents.set(key, [])
    const gone = before === undefined ? undefined : factsOf(before)
    if (gone === undefined || gone.uid === '') return
    this.#remember(gone.uid)
    this.#waiting.delete(gone.uid)
    for (const dependent of this.#dependents.of(gone.uid)) this.#lookAt(dependent)
    this.#wakeOwners(gone)
  }

  /** Looks at an object, and does what is to be done now. */
  async work(key: Key): Promise<void> {
    const place = this.#cluster.placeOf(key)
    const facts = await this.#factsOf(key)
    if (place === undefined || facts === undefined) return
    if (isDeletingDependents(facts)) return this.#deleteDependents(key, place, facts)
    if (facts.deletedAtMs !== undefined) {
      if (facts.finalizers.includes(orphan)) await this.#orphanDependents(place, facts)
      return
    }
    if (facts.owners.length > 0) await this.#judge(place, facts)
  }

  #note(key: Key, facts: ObjectFacts): void {
    this.#dependents.set(
      key,
      facts.owners.map(({ uid }) => uid),
    )
    const isHeld = facts.finalizers.some(one => one === foreground || one === orphan)
    if (facts.deletedAtMs !== undefined && isHeld) this.#lookAt(key)
  }

  /** A dependent may block its owners no more. */
  #wakeOwners(before: ObjectFacts | undefined): void {
    for (const { uid } of before?.owners ?? []) {
      const owner = this.#waiting.get(uid)
      if (owner !== undefined) this.#lookAt(owner)
    }
  }

  #remember(uid: string): void {
    this.#deleted.add(uid)
    const [oldest] = this.#deleted
    if (this.#deleted.size > deletedMax && oldest !== undefined) this.#deleted.delete(oldest)
  }

  /** Objects are read out of memory, which lets nothing else come between. */
  async #factsOf(key: Key): Promise<ObjectFacts | undefined> {
    await this.#slice.giveWay()
    const entry = await this.#cluster.read(key)
    return entry === undefined ? undefined : factsOf(entry)
  }

  /** An owner goes after the dependents that block it. */
  async #deleteDependents(key: Key, place: ApiPlace, facts: ObjectFacts): Promise<void> {
    this.#waiting.set(facts.uid, key)
    let isBlocked = false
    for (const dependent of this.#dependents.of(facts.uid)) {
      const reference = (await this.#factsOf(dependent))?.owners.find(
        ({ uid }) => uid === facts.uid,
      )
      if (reference?.blockOwnerDeletion !== true) continue
      isBlocked = true
      this.#lookAt(dependent)
    }
    if (!isBlocked) await this.#removeFinalizer(place, facts, foreground)
  }

  async #orphanDependents(place: ApiPlace, facts: ObjectFacts): Promise<void> {
    for (const key of this.#dependents.of(facts.uid)) {
      const dependent = this.#cluster.placeOf(key)
      const known = await this.#factsOf(key)
      if (dependent === undefined || known === undefined) continue
      await this.#keepOwners(dependent, known, ({ uid }) => uid !== facts.uid)
    }
    await this.#removeFinalizer(place, facts, orphan)
  }

  /** Decides about an object by the state of its owners. */
  async #judge(place: ApiPlace, facts: ObjectFacts): Promise<void> {
    const states = new Map<StoredOwner, 'solid' | 'gone' | 'waiting'>()
    const found = new Map<Key, ObjectFacts | undefined>()
    for (const owner of facts.owners) states.set(owner, await this.#stateOf(owner, place, found))
    const all = [...states.values()]
    if (all.includes('solid')) {
      if (all.every(state => state === 'solid')) return
      await this.#keepOwners(place, facts, owner => states.get(owner) === 'solid')
      return
    }
    const request = { uid: facts.uid }
    if (all.includes('waiting') && this.#dependents.has(facts.uid)) {
      if (await this.#isInCycle(facts)) await this.#unblock(place, facts)
      await this.#cluster.delete(place, { ...request, propagation: 'Foreground' })
    } else {
      await this.#cluster.delete(place, { ...request, propagation: policyOf(facts) })
    }
  }

  /** Whether what depends on the object waits for its own dependents: perhaps, in the end, for
   *  this one. */
  async #isInCycle({ uid }: ObjectFacts): Promise<boolean> {
    for (const key of this.#dependents.of(uid)) {
      const facts = await this.#factsOf(key)
      if (facts !== undefined && isDeletingDependents(facts)) return true
    }
    return false
  }

  /** No owner waits for the object any more. */
  async #unblock(place: ApiPlace, { resourceVersion, owners }: ObjectFacts): Promise<void> {
    if (!owners.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return
    const ownerReferences = owners.map(owner => ({ ...owner, blockOwnerDeletion: false }))
    await this.#cluster.patch(place, { metadata: { resourceVersion, ownerReferences } })
  }

  /** `found`: the owners that were read. Thousands of references may name one by made-up uids. */
  async #stateOf(
    owner: StoredOwner,
    { namespace }: ApiPlace,
    found: Map<Key, ObjectFacts | undefined>,
  ): Promise<'solid' | 'gone' | 'waiting'> {
    if (this.#deleted.has(owner.uid)) return 'gone'
    const key = this.#cluster.keyOf({ ...owner, namespace })
    if (key === undefined) return 'solid'
    if (!found.has(key)) found.set(key, await this.#factsOf(key))
    const facts = found.get(key)
    if (facts?.uid !== owner.uid) return 'solid'
    return isDeletingDependents(facts) ? 'waiting' : 'solid'
  }

  async #keepOwners(
    place: ApiPlace,
    { resourceVersion, owners }: ObjectFacts,
    isKept: (owner: StoredOwner) => boolean,
  ): Promise<void> {
    const ownerReferences = owners.filter(isKept)
    if (ownerReferences.length === owners.length) return
    await this.#cluster.patch(place, { metadata: { resourceVersion, ownerReferences } })
  }

  async #removeFinalizer(
    place: ApiPlace,
    { resourceVersion, finalizers }: ObjectFacts,
    finalizer: string,
  ): Promise<void> {
    const left = finalizers.filter(one => one !== finalizer)
    await this.#cluster.patch(place, { metadata: { resourceVersion, finalizers: left } })
  }
}

function isDeletingDependents({ deletedAtMs, finalizers }: ObjectFacts): boolean {
  return deletedAtMs !== undefined && finalizers.includes(foreground)
}

function policyOf({ finalizers }: ObjectFacts): Propagation {
  if (finalizers.includes(orphan)) return 'Orphan'
  return finalizers.includes(foreground) ? 'Foreground' : 'Background'
}
