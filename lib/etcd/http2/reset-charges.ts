/** Charges for streams that end because of what their client has sent, whatever frame that was: its
 *  own RST_STREAM (CVE-2023-44487), or a window of nothing, trailers that go on, a body of another
 *  length than it has said, which make us reset the stream (CVE-2025-8671). Each may have begun a
 *  request whose work is lost, also with an upstream. */

import type { Clock } from '@watchglass/base'
import { Allowance } from './allowance.ts'

/** As many as nghttp2 takes of resets. */
export const resetBounds = { most: 1_000, perSecond: 33 }
/** Unanswered requests of a client that is not known. */
const strangerResetsMax = 20

export class ResetCharges {
  readonly #resets: Allowance
  #strangerResets = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#resets = new Allowance(clock, resetBounds)
  }

  /** False if the client has done so too often. */
  charge(isOfStranger: boolean): boolean {
    this.#resets.refill()
    if (!this.#resets.take(1)) return false
    return !isOfStranger || ++this.#strangerResets <= strangerResetsMax
  }
}
