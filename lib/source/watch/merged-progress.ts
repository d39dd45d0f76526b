/** Several watches of one resource as one. Each delivers all events after its start, in order, and
 *  each began at a revision up to which everything was known. So an event above the position is the
 *  next one, whichever watch brings it first: everything before it has come on the same watch, and
 *  was taken. A bookmark is a proof for the same reason.
 *
 *  Several objects may change at one revision: etcd deletes what hangs on a lease that has expired
 *  in one transaction, as it does with core Events. */

import type { Key, Revision } from '@watchglass/base'

/** Whether a change is the first of its revision, a further one of it, or has come before. */
export type Novelty = 'first' | 'further' | 'known'

export class MergedProgress {
  #position: Revision
  /** The keys that were taken at the position; none where it is known by a bookmark or a list. */
  readonly #keys = new Set<Key>()

  constructor(start: Revision) {
    this.#position = start
  }

  /** The revision up to which nothing is missing. */
  get position(): Revision {
    return this.#position
  }

  take(revision: Revision, key: Key): Novelty {
    if (revision > this.#position) {
      this.#position = revision
      this.#keys.clear()
      this.#keys.add(key)
      return 'first'
    }
    if (revision < this.#position || this.#keys.size === 0 || this.#keys.has(key)) return 'known'
    this.#keys.add(key)
    return 'further'
  }

  /** True for a bookmark of a server that is not behind. One at the position is an answer, too. */
  prove(revision: Revision): boolean {
    if (revision < this.#position) return false
    if (revision > this.#position) this.#keys.clear()
    this.#position = revision
    return true
  }
}
