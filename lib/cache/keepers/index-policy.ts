/** Decides which secondary indexes a keyspace has. Clients choose selectors freely, so the number
 *  of indexes is bounded. An index is built when it would have helped a second time. If there is no
 *  room, the one that was used least recently is dropped. An index that is in use is not dropped
 *  for another, so that many alternating selectors do not build and drop indexes all the time. */

/** A step to take on a keyspace's indexes. */
export interface IndexChange {
  readonly type: 'add' | 'drop'
  readonly name: string
}

export interface IndexPolicyLimits {
  /** Each index costs memory with every entry that it holds, and time with every change. */
  readonly maxIndexes: number
  /** Bound of those that one user has caused. */
  readonly maxPerUser: number
  /** The most names that are remembered after they were asked for once. */
  readonly maxCandidates: number
  /** An index counts as used if it was asked for within this many requests. */
  readonly inUseRequests: number
}

const defaultIndexPolicyLimits: IndexPolicyLimits = {
  maxIndexes: 16,
  maxPerUser: 8,
  maxCandidates: 256,
  inUseRequests: 64,
}

interface Built {
  /** When it was last used, counted in requests. */
  readonly usedAt: number
  /** The user who has caused it; undefined if users are not distinguished. */
  readonly user: string | undefined
}

interface Wanted {
  readonly name: string
  readonly user: string | undefined
}

/** The indexes of one keyspace. */
export class IndexPolicy {
  readonly #limits: IndexPolicyLimits
  /** In the order in which they were last used. */
  readonly #built = new Map<string, Built>()
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

  /** A request of a user has come that these indexes could answer. The caller makes the changes.
   *  O(names). */
  asked(names: readonly string[], user?: string): IndexChange[] {
    this.#requests++
    const changes: IndexChange[] = []
    for (const name of new Set(names)) {
      const built = this.#built.get(name)
      if (built !== undefined) {
        this.#built.delete(name)
        this.#built.set(name, { ...built, usedAt: this.#requests })
      } else if (this.#candidates.delete(name)) this.#build({ name, user }, changes)
      else this.#remember(name)
    }
    return changes
  }

  /** Forgets the index that was used least recently, if there is one; its name. The caller drops
   *  it. */
  shrink(): string | undefined {
    const [name] = this.#built.keys()
    if (name !== undefined) this.#built.delete(name)
    return name
  }

  /** Forgets an index that the caller has dropped. */
  forget(name: string): void {
    this.#built.delete(name)
  }

  #remember(name: string): void {
    this.#candidates.add(name)
    if (this.#candidates.size <= this.#limits.maxCandidates) return
    const [first] = this.#candidates
    if (first !== undefined) this.#candidates.delete(first)
  }

  #build({ name, user }: Wanted, changes: IndexChange[]): void {
    const { maxIndexes, maxPerUser, inUseRequests } = this.#limits
    const own =
      user === undefined ? [] : [...this.#built].filter(([, built]) => built.user === user)
    const isFull = own.length >= maxPerUser || this.#built.size >= maxIndexes
    const oldest = own.length >= maxPerUser ? own[0] : [...this.#built][0]
    if (isFull && oldest !== undefined) {
      if (this.#requests - oldest[1].usedAt <= inUseRequests) {
        this.#remember(name)
        return
      }
      this.#built.delete(oldest[0])
      changes.push({ type: 'drop', name: oldest[0] })
    }
    this.#built.set(name, { usedAt: this.#requests, user })
    changes.push({ type: 'add', name })
  }
}
