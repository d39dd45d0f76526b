/** Whose turn it is at connections that all share: each user may have a few at once, and waits for more in a line of its own. The lines take
 *  turns, so that a thousand requests of one user delay another's by one place and not by a thousand. */

/** Something that waits for a connection. */
export interface Lined {
  /** Undefined: nobody is told apart. */
  readonly user: string | undefined
}

export class UserLines<T extends Lined> {
  readonly #perUserMax: number
  readonly #taken = new Map<string, number>()
  /** In the order of their turns. */
  readonly #lines = new Map<string | undefined, Set<T>>()

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

  /** Takes out who is next among those who may have one. */
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

  /** Takes out everybody. */
  takeAll(): T[] {
    const all = [...this.#lines.values()].flatMap(line => [...line])
    this.#lines.clear()
    return all
  }
}
