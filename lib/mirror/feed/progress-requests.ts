/** When to ask a stream for a progress mark: at once when somebody begins to wait for a revision that has not been asked for, and
 *  again with growing pauses until it arrives, because a mark speaks only for the member that sends it, and that one may lag.
 *  All who wait share the requests. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import type { Revision } from '../../base/revision.ts'
import type { MirrorLimits } from '../limits.ts'

export interface ProgressRequestsOptions {
  readonly clock: Clock
  readonly limits: Pick<MirrorLimits, 'progressBackoff' | 'progressRequestsMax'>
  readonly send: () => void
  /** Somebody still waits. */
  readonly isAwaited: () => boolean
}

export class ProgressRequests {
  readonly #options: ProgressRequestsOptions
  #askedFor: Revision | undefined = undefined
  #unanswered = 0
  /** Somebody came while too many requests were on their way. */
  #isOwed = false
  #pauseMs: number
  #cancelTimer: CancelTimer | undefined = undefined
  #isStopped = false

  constructor(options: ProgressRequestsOptions) {
    this.#options = options
    this.#pauseMs = options.limits.progressBackoff.firstMs
  }

  /** Somebody waits for `revision`. */
  need(revision: Revision): void {
    if (this.#isStopped) return
    if (this.#askedFor !== undefined && revision <= this.#askedFor && this.#isAsking) return
    this.#askedFor = revision
    this.#pauseMs = this.#options.limits.progressBackoff.firstMs
    if (this.#unanswered >= this.#options.limits.progressRequestsMax) {
      this.#isOwed = true
    } else {
      this.ask()
    }
    this.#schedule()
  }

  /** Asks once, whoever waits. */
  ask(): void {
    if (this.#isStopped) return
    this.#unanswered++
    this.#options.send()
  }

  /** A mark has come. It may be less than what is needed: the pauses go on then. */
  answered(): void {
    this.#unanswered = Math.max(0, this.#unanswered - 1)
    if (!this.#options.isAwaited()) {
      this.#rest()
    } else if (this.#isOwed) {
      this.#isOwed = false
      this.ask()
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#rest()
  }

  get #isAsking(): boolean {
    return this.#cancelTimer !== undefined
  }

  #schedule(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#options.clock.setTimer(this.#pauseMs, () => {
      this.#cancelTimer = undefined
      // What was not answered by now is taken as lost, so that it does not count against the bound for ever.
      this.#unanswered = 0
      if (this.#isStopped || !this.#options.isAwaited()) {
        this.#rest()
        return
      }
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#options.limits.progressBackoff.maxMs)
      this.#isOwed = false
      this.ask()
      this.#schedule()
    })
  }

  #rest(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#isOwed = false
    this.#askedFor = undefined
  }
}
