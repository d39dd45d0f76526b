/** The amounts that users have taken of something that all share. */

/** An amount for each user, and the sum, both limited. */
export interface Tally {
  /** Which bound does not allow it; undefined if it is counted. Something so large that no bound
   *  allows it is counted alone. */
  add(user: string | undefined, amount: number): 'user' | 'all' | undefined
  remove(user: string | undefined, amount: number): void
  isCrowded(user: string): boolean
  /** The user has taken more than that. */
  isAbove(user: string, amount: number): boolean
}

/** From a sixteenth of a bound on, users are asked for by name. */
export function isNearBound(amount: number, bound: number): boolean {
  return amount > bound / 16
}

/** The number of users without anything that are kept: most requests end before the user's next one
 *  comes. */
const idleKept = 100

/** The tally of a process with one thread. */
export class UserTally implements Tally {
  readonly #perUser: number
  readonly #max: number
  readonly #amounts = new Map<string, number>()
  #sum = 0

  constructor(perUser: number, max: number) {
    this.#perUser = perUser
    this.#max = max
  }

  add(user: string | undefined, amount: number): 'user' | 'all' | undefined {
    const known = user === undefined ? 0 : (this.#amounts.get(user) ?? 0)
    if (known > 0 && known + amount > this.#perUser) return 'user'
    if (this.#sum > 0 && this.#sum + amount > this.#max) return 'all'
    if (user !== undefined) this.#amounts.set(user, known + amount)
    this.#sum += amount
    return undefined
  }

  remove(user: string | undefined, amount: number): void {
    this.#sum -= amount
    if (user === undefined) return
    const left = (this.#amounts.get(user) ?? 0) - amount
    if (left > 0 || this.#amounts.size <= idleKept) this.#amounts.set(user, Math.max(0, left))
    else this.#amounts.delete(user)
  }

  isAbove(user: string, amount: number): boolean {
    return (this.#amounts.get(user) ?? 0) > amount
  }

  isCrowded(user: string): boolean {
    const taken = this.#amounts.get(user) ?? 0
    return isNearBound(taken, this.#perUser) || isNearBound(this.#sum, this.#max)
  }
}
