/** One keyspace that controllers follow: facts about its objects, and who is told when one
 *  changes. */

import { type Key, keyFromText } from '@watchglass/base'
import { FactIndex } from './fact-index.ts'
import type { Fact } from './facts.ts'

export type FactOf<F extends Fact, T> = (key: Key, revision: number, object: T) => F

export interface Reactions<F extends Fact> {
  /** Not before all is known. */
  readonly changed?: (fact: F) => void
  /** As `changed`, and at once, too. */
  readonly noted?: (fact: F) => void
  readonly gone?: (fact: F) => void
}

/** A keyspace whatever it holds. */
export interface AnyInformer {
  readonly keyspace: Key
  /** Whether the object of this revision, or a newer one, has been found already. */
  knows(key: Key, revision: number): boolean
  found(key: Key, revision: number, object: unknown, isComplete: boolean): void
  /** An object whose facts are known: they are of this kind. */
  put(fact: Fact, isComplete: boolean): void
  lost(key: Key, revision: number): void
  tellAll(): void
}

export class Informer<F extends Fact, T> implements AnyInformer {
  readonly index: FactIndex<F> = new FactIndex<F>()
  readonly keyspace: Key
  readonly #factOf: FactOf<F, T>
  readonly #listeners: Reactions<F>[] = []

  constructor(keyspace: Key, factOf: FactOf<F, T>) {
    this.keyspace = keyspace
    this.#factOf = factOf
  }

  listen(reactions: Reactions<F>): void {
    this.#listeners.push(reactions)
  }

  at(namespace: string, name: string): F | undefined {
    return this.index.get(this.keyOf(namespace, name))
  }

  keyOf(namespace: string, name: string): Key {
    const rest = namespace === '' ? name : `${namespace}/${name}`
    return `${this.keyspace}${keyFromText(rest)}` as Key
  }

  knows(key: Key, revision: number): boolean {
    return (this.index.get(key)?.revision ?? 0) >= revision
  }

  found(key: Key, revision: number, object: unknown, isComplete: boolean): void {
    this.put(this.#factOf(key, revision, object as T), isComplete)
  }

  put(known: Fact, isComplete: boolean): void {
    const fact = known as F
    if (!this.index.put(fact)) return
    for (const { noted } of this.#listeners) noted?.(fact)
    if (isComplete) this.#tell(fact)
  }

  lost(key: Key, revision: number): void {
    const fact = this.index.remove(key, revision)
    if (fact === undefined) return
    for (const { gone } of this.#listeners) gone?.(fact)
  }

  tellAll(): void {
    for (const fact of this.index.values()) this.#tell(fact)
  }

  #tell(fact: F): void {
    for (const { changed } of this.#listeners) changed?.(fact)
  }
}
