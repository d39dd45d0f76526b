/** The limits of requests that the clusters of a fleet share. Those of users are each cluster's
 *  own; those of the process are divided so that no cluster can use up what others need: each may
 *  have as much as is left free. One that takes all it can has half, a second one a quarter. */

import {
  type CreateTally,
  ListPace,
  systemClock,
  type Tally,
  type TallyName,
  UserTally,
} from '@watchglass/cache'

/** The amounts of all clusters. */
class ClusterAmounts {
  readonly #max: number
  readonly #amounts = new Map<string, number>()
  #sum = 0

  constructor(max: number) {
    this.#max = max
  }

  /** False if the cluster would have more than is left free. The first of all may have anything. */
  add(cluster: string, amount: number): boolean {
    const taken = (this.#amounts.get(cluster) ?? 0) + amount
    const free = this.#max - this.#sum
    if (this.#sum > 0 && taken > free) return false
    this.#amounts.set(cluster, taken)
    this.#sum += amount
    return true
  }

  remove(cluster: string, amount: number): void {
    const left = (this.#amounts.get(cluster) ?? 0) - amount
    this.#sum -= amount
    if (left > 0) this.#amounts.set(cluster, left)
    else this.#amounts.delete(cluster)
  }
}

/** The amounts of the users of one cluster. */
class ClusterTally implements Tally {
  readonly #users: UserTally
  readonly #amounts: ClusterAmounts
  readonly #cluster: string

  constructor(users: UserTally, amounts: ClusterAmounts, cluster: string) {
    this.#users = users
    this.#amounts = amounts
    this.#cluster = cluster
  }

  add(user: string | undefined, amount: number): 'user' | 'all' | undefined {
    const bound = this.#users.add(user, amount)
    if (bound !== undefined) return bound
    if (this.#amounts.add(this.#cluster, amount)) return undefined
    this.#users.remove(user, amount)
    return 'all'
  }

  remove(user: string | undefined, amount: number): void {
    this.#users.remove(user, amount)
    this.#amounts.remove(this.#cluster, amount)
  }

  isAbove(user: string, amount: number): boolean {
    return this.#users.isAbove(user, amount)
  }

  isCrowded(user: string): boolean {
    return this.#users.isCrowded(user)
  }
}

export class SharedLimits {
  /** The pace of the event loop. */
  readonly pace: ListPace = new ListPace(systemClock)
  readonly #amounts = new Map<TallyName, ClusterAmounts>()

  /** The tallies of one cluster. */
  talliesOf(cluster: string): CreateTally {
    return (name, perUser, max) => {
      const amounts = this.#amounts.get(name) ?? new ClusterAmounts(max)
      this.#amounts.set(name, amounts)
      return new ClusterTally(new UserTally(perUser, max), amounts, cluster)
    }
  }
}
