/** Which objects name which owners, by uid. Only objects with owners take room here: most have one,
 *  so nothing is made for a single owner but its place in a map. */

import type { Key } from '@watchglass/base'

interface Owner {
  readonly uid: string
  readonly dependents: Set<Key>
}

export class Dependents {
  readonly #ownersOf = new Map<Key, Owner | readonly Owner[]>()
  readonly #owners = new Map<string, Owner>()

  /** The object has these owners now. */
  set(key: Key, owners: readonly string[]): void {
    const before = this.#ownersOf.get(key)
    if (before === undefined && owners.length === 0) return
    this.#ownersOf.delete(key)
    const named = owners.map(uid => this.#add(uid, key))
    const [only] = named
    if (only !== undefined) this.#ownersOf.set(key, named.length === 1 ? only : named)
    const left = new Set(listOf(before))
    for (const owner of named) left.delete(owner)
    for (const owner of left) this.#remove(owner, key)
  }

  of(uid: string): Key[] {
    return [...(this.#owners.get(uid)?.dependents ?? [])]
  }

  has(uid: string): boolean {
    return this.#owners.has(uid)
  }

  /** Forgets all objects of a keyspace. */
  forget(keyspace: Key): void {
    for (const key of this.#ownersOf.keys()) if (key.startsWith(keyspace)) this.set(key, [])
  }

  #add(uid: string, key: Key): Owner {
    let owner = this.#owners.get(uid)
    if (owner === undefined) {
      owner = { uid, dependents: new Set() }
      this.#owners.set(uid, owner)
    }
    owner.dependents.add(key)
    return owner
  }

  #remove({ uid, dependents }: Owner, key: Key): void {
    dependents.delete(key)
    if (dependents.size === 0) this.#owners.delete(uid)
  }
}

function listOf(owners: Owner | readonly Owner[] | undefined): readonly Owner[] {
  if (owners === undefined) return []
  return 'uid' in owners ? [owners] : owners
}
