/** Shares connections among users: each user may have a few at once, and the other requests of the
 *  user wait in a queue. The queues take turns, so that a thousand requests of one user delay
 *  another user's request by one turn and not by a thousand. */

/** A request that waits for a connection. */
export interface Lined {
  /** Undefined if requests are not shared out by user. */
  readonly user: string | undefined
}

export class UserLines<T extends Lined> {
  readonly #perUserMax: number
  readonly #taken = new Map<string, number>()
  /** In the order of their turns. */
  readonly #lines = new Map<string | undefined, Set<T>>()

  /** Somebody waits. */
  get isWaiting(): boolean {
    return this.#lines.size > 0
  }

  constructor(perUserMax: number) {
    this.#perUserMax = perUserMax
  }

  mayTake(user: string | undefined): boolean {
    return user === undefined || (this.#taken.get(user) ?? 0) < this.#perUserMax
  }

  take(user: string | undefined): void {
    if (user !== undefined) this.#taken.set(user, (this.#taken.get(user) ?? 0) + 1)
  }

  give(user: string | undefined): void {
    if (user === undefined) return
    const left = (this.#taken.get(user) ?? 0) - 1
    if (left > 0) this.#taken.set(user, left)
    else this.#taken.delete(user)
  }

  add(waiting: T): void {
    const line = this.#lines.get(waiting.user)
    if (line === undefined) this.#lines.set(waiting.user, new Set([waiting]))
    else line.add(waiting)
  }

  delete(waiting: T): void {
    const line = this.#lines.get(waiting.user)
    line?.delete(waiting)
    if (line?.size === 0) this.#lines.delete(waiting.user)
  }

  /** Removes and returns the next request that may have a connection. */
  next(): T | undefined {
    for (const [user, line] of this.#lines) {
      if (!this.mayTake(user)) continue
      const [first] = line
      if (first === undefined) continue
      line.delete(first)
      this.#lines.delete(user)
      if (line.size > 0) this.#lines.set(user, line)
      return first
    }
    return undefined
  }

  /** Removes and returns all requests. */
  takeAll(): T[] {
    const all = [...this.#lines.values()].flatMap(line => [...line])
    this.#lines.clear()
    return all
  }
}
