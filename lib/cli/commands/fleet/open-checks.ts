/** The checks of senders that are open, of all clusters: so many strangers may ask for so many idle
 *  clusters that what is opened for them must be bounded. The one that was asked the longest ago
 *  makes room. */

/** A check that can be closed and opened again. */
export interface ClosableCheck {
  /** A question is under way. */
  readonly isAsking: boolean
  stop(): Promise<void>
}

/** Each may have connections to an API server. */
const openMax = 64

export class OpenChecks {
  /** In the order in which they were asked last. */
  readonly #open = new Set<ClosableCheck>()

  /** False if all that are open have questions under way. */
  makeRoomFor(check: ClosableCheck): boolean {
    if (this.#open.size >= openMax && !this.#open.has(check)) {
      const oldest = [...this.#open].find(one => !one.isAsking)
      if (oldest === undefined) return false
      this.#open.delete(oldest)
      void oldest.stop()
    }
    this.#open.delete(check)
    this.#open.add(check)
    return true
  }

  forget(check: ClosableCheck): void {
    this.#open.delete(check)
  }
}
