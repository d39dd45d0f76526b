/** Facts by key and by the uid of their owner. */

import type { Key } from '../../base/keys.ts'
import type { Fact } from './facts.ts'

export class FactIndex<F extends Fact> {
  readonly #facts = new Map<Key, F>()
  readonly #owned = new Map<string, Set<Key>>()

  get size(): number {
    return this.#facts.size
  }

  get(key: Key): F | undefined {
    return this.#facts.get(key)
  }

  values(): Iterable<F> {
    return this.#facts.values()
  }

  *ownedBy(uid: string): Iterable<F> {
    for (const key of this.#owned.get(uid) ?? []) {
      const fact = this.#facts.get(key)
      if (fact !== undefined) yield fact
    }
  }

  /** False if as new a fact is there already. */
  put(fact: F): boolean {
    const { key, owner } = fact
    const before = this.#facts.get(key)
    if (before !== undefined && before.revision >= fact.revision) return false
    if (before?.owner?.uid !== owner?.uid) this.#disown(before)
    this.#facts.set(key, fact)
    if (owner !== undefined) {
      let keys = this.#owned.get(owner.uid)
      if (keys === undefined) this.#owned.set(owner.uid, (keys = new Set()))
      keys.add(key)
    }
    return true
  }

  /** The fact that is gone; undefined if there was none, or there is a newer one. */
  remove(key: Key, revision: number): F | undefined {
    const before = this.#facts.get(key)
    if (before === undefined || before.revision > revision) return undefined
    this.#disown(before)
    this.#facts.delete(key)
    return before
  }

  #disown(fact: F | undefined): void {
    const uid = fact?.owner?.uid
    if (fact === undefined || uid === undefined) return
    const keys = this.#owned.get(uid)
    keys?.delete(fact.key)
    if (keys?.size === 0) this.#owned.delete(uid)
  }
}
