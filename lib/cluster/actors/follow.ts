/** One keyspace that actors follow: facts about its objects, and who is told when one changes. */

import type { Key } from '../../base/keys.ts'
import { keyFromText } from '../../base/keys.ts'
import { FactIndex } from './fact-index.ts'
import type { Fact } from './facts.ts'

export interface FollowOptions<F extends Fact, T> {
  readonly keyspace: Key
  readonly factOf: (key: Key, revision: number, object: T) => F
  /** Not before all is known. */
  readonly changed: (fact: F) => void
  /** As `changed`, and at once, too. */
  readonly noted?: (fact: F) => void
  readonly gone?: (fact: F) => void
}

/** A keyspace whatever it holds. */
export interface AnyFollow {
  readonly keyspace: Key
  found(key: Key, revision: number, object: unknown, isComplete: boolean): void
  lost(key: Key, revision: number): void
  tellAll(): void
}

export class Follow<F extends Fact, T> implements AnyFollow {
  readonly index: FactIndex<F> = new FactIndex<F>()
  readonly #options: FollowOptions<F, T>

  constructor(options: FollowOptions<F, T>) {
    this.#options = options
  }

  get keyspace(): Key {
    return this.#options.keyspace
  }

  at(namespace: string, name: string): F | undefined {
    return this.index.get(this.keyOf(namespace, name))
  }

  keyOf(namespace: string, name: string): Key {
    const rest = namespace === '' ? name : `${namespace}/${name}`
    return `${this.keyspace}${keyFromText(rest)}` as Key
  }

  found(key: Key, revision: number, object: unknown, isComplete: boolean): void {
    const { factOf, noted, changed } = this.#options
    const fact = factOf(key, revision, object as T)
    if (!this.index.put(fact)) return
    noted?.(fact)
    if (isComplete) changed(fact)
  }

  lost(key: Key, revision: number): void {
    const fact = this.index.remove(key, revision)
    if (fact !== undefined) this.#options.gone?.(fact)
  }

  tellAll(): void {
    for (const fact of this.index.values()) this.#options.changed(fact)
  }
}
