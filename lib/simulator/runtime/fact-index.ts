/** Facts by key, by the uid of their owner, and of those that have none, by their namespace. */

import type { Key } from '@watchglass/base'
import type { Fact } from './facts.ts'

export class FactIndex<F extends Fact> {
  readonly #facts = new Map<Key, F>()
  readonly #owned = new Map<string, Set<Key>>()
  readonly #inNamespace = new Map<string, Set<Key>>()

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
    yield* this.#factsOf(this.#owned.get(uid))
  }

  countOwnedBy(uid: string): number {
    return this.#owned.get(uid)?.size ?? 0
  }

  /** The facts about objects of a namespace that nobody controls. */
  *orphansIn(namespace: string): Iterable<F> {
    yield* this.#factsOf(this.#owned.get(orphansOf(namespace)))
  }

  *inNamespace(namespace: string): Iterable<F> {
    yield* this.#factsOf(this.#inNamespace.get(namespace))
  }

  *#factsOf(keys: Iterable<Key> = []): Iterable<F> {
    for (const key of keys) {
      const fact = this.#facts.get(key)
      if (fact !== undefined) yield fact
    }
  }

  /** False if as new a fact is there already. */
  put(fact: F): boolean {
    const { key } = fact
    const before = this.#facts.get(key)
    if (before !== undefined && before.revision >= fact.revision) return false
    const [group, groupBefore] = [groupOf(fact), before && groupOf(before)]
    if (groupBefore !== undefined && groupBefore !== group) take(this.#owned, groupBefore, key)
    this.#facts.set(key, fact)
    add(this.#owned, group, key)
    add(this.#inNamespace, fact.namespace, key)
    return true
  }

  /** The fact that is gone; undefined if there was none, or there is a newer one. */
  remove(key: Key, revision: number): F | undefined {
    const before = this.#facts.get(key)
    if (before === undefined || before.revision > revision) return undefined
    take(this.#owned, groupOf(before), key)
    take(this.#inNamespace, before.namespace, key)
    this.#facts.delete(key)
    return before
  }
}

/** No uid begins so. */
function orphansOf(namespace: string): string {
  return `/${namespace}`
}

function groupOf({ owner, namespace }: Fact): string {
  return owner?.uid ?? orphansOf(namespace)
}

function add(groups: Map<string, Set<Key>>, group: string, key: Key): void {
  const keys = groups.get(group)
  if (keys === undefined) groups.set(group, new Set([key]))
  else keys.add(key)
}

function take(groups: Map<string, Set<Key>>, group: string, key: Key): void {
  const keys = groups.get(group)
  keys?.delete(key)
  if (keys?.size === 0) groups.delete(group)
}
