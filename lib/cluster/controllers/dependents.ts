/** Which objects name which owners, by uid. Only objects with owners take room here. */

import type { Key } from '../../base/keys.ts'

export class Dependents {
  readonly #owners = new Map<Key, readonly string[]>()
  readonly #dependents = new Map<string, Set<Key>>()

  /** The object has these owners now. */
  set(key: Key, owners: readonly string[]): void {
    const before = this.#owners.get(key)
    if (before === undefined && owners.length === 0) return
    for (const uid of before ?? []) this.#remove(uid, key)
    if (owners.length === 0) this.#owners.delete(key)
    else this.#owners.set(key, owners)
    for (const uid of owners) {
      const known = this.#dependents.get(uid)
      if (known === undefined) this.#dependents.set(uid, new Set([key]))
      else known.add(key)
    }
  }

  of(uid: string): Key[] {
    return [...(this.#dependents.get(uid) ?? [])]
  }

  has(uid: string): boolean {
    return this.#dependents.has(uid)
  }

  /** Forgets all objects of a keyspace. */
  forget(keyspace: Key): void {
    for (const key of this.#owners.keys()) if (key.startsWith(keyspace)) this.set(key, [])
  }

  #remove(uid: string, key: Key): void {
    const known = this.#dependents.get(uid)
    known?.delete(key)
    if (known?.size === 0) this.#dependents.delete(uid)
  }
}
