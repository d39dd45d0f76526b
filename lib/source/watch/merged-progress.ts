/** Several watches of one resource as one. Each delivers all events after its start, in order, and
 *  each began at a revision up to which everything was known. So an event above the position is the
 *  next one, whichever watch brings it first: everything before it has come on the same watch, and
 *  was taken. A bookmark is a proof for the same reason. */

import type { Revision } from '@watchglass/base'

export class MergedProgress {
  #position: Revision

  constructor(start: Revision) {
    this.#position = start
  }

  /** The revision up to which nothing is missing. */
  get position(): Revision {
    return this.#position
  }

  /** True for an event that has not come before. */
  take(revision: Revision): boolean {
    if (revision <= this.#position) return false
    this.#position = revision
    return true
  }

  /** True for a bookmark of a server that is not behind. One at the position is an answer, too. */
  prove(revision: Revision): boolean {
    if (revision < this.#position) return false
    this.#position = revision
    return true
  }
}
