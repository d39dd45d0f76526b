/** Decides which secondary indexes a keyspace has. Clients choose selectors freely, so the number of indexes is bounded. An index is built
 *  when it would have helped a second time. If there is no room, the one that was used least recently is dropped. An index that is in
 *  use is not dropped for another, so that many alternating selectors do not build and drop indexes all the time. */

/** What to do about a keyspace's indexes. */
export interface IndexChange {
  readonly type: 'add' | 'drop'
  readonly name: string
}

export interface IndexPolicyLimits {
  /** Each index costs memory with every entry that it holds, and time with every change. */
  readonly maxIndexes: number
  /** The most names that are remembered after they were asked for once. */
  readonly maxCandidates: number
  /** An index counts as used if it was asked for within this many requests. */
  readonly inUseRequests: number
}

const defaultIndexPolicyLimits: IndexPolicyLimits = {
  maxIndexes: 16,
  maxCandidates: 256,
  inUseRequests: 64,
}

/** The indexes of one keyspace. */
export class IndexPolicy {
  readonly #limits: IndexPolicyLimits
  /** When each was last used, counted in requests; in that order. */
  readonly #built = new Map<string, number>()
  /** Wanted once; in order of time. */
  readonly #candidates = new Set<string>()
  #requests = 0

  constructor(limits: IndexPolicyLimits = defaultIndexPolicyLimits) {
    this.#limits = limits
  }

  /** The indexes that there are, or that are being built. */
  get names(): readonly string[] {
    return [...this.#built.keys()]
  }

  /** A request has come that these indexes could answer. The caller makes the changes. O(names). */
  asked(names: readonly string[]): IndexChange[] {
    this.#requests++
    const changes: IndexChange[] = []
    for (const name of new Set(names)) {
      if (this.#built.delete(name)) this.#built.set(name, this.#requests)
      else if (this.#candidates.delete(name)) this.#build(name, changes)
      else this.#remember(name)
    }
    return changes
  }

  #remember(name: string): void {
    this.#candidates.add(name)
    if (this.#candidates.size <= this.#limits.maxCandidates) return
    const [first] = this.#candidates
    if (first !== undefined) this.#candidates.delete(first)
  }

  #build(name: string, changes: IndexChange[]): void {
    const { maxIndexes, inUseRequests } = this.#limits
    if (this.#built.size >= maxIndexes) {
      const [oldest] = this.#built
      if (oldest === undefined || this.#requests - oldest[1] <= inUseRequests) {
        this.#remember(name)
        return
      }
      this.#built.delete(oldest[0])
      changes.push({ type: 'drop', name: oldest[0] })
    }
    this.#built.set(name, this.#requests)
    changes.push({ type: 'add', name })
  }
}
