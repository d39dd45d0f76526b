/** Decides when to ask a stream for a progress mark: at once when a read begins to wait for a new
 *  revision, and again with growing pauses until the revision is reached, because a mark is valid
 *  only for the member that sends it, and that member may lag. All waiting reads share the
 *  requests. */

import type { CancelTimer, Clock, Revision } from '@watchglass/base'
import type { MirrorLimits } from '../limits.ts'

export interface ProgressRequestsOptions {
  readonly clock: Clock
  readonly limits: Pick<MirrorLimits, 'progressBackoff' | 'progressRequestsMax'>
  readonly send: () => void
  /** A read is still waiting. */
  readonly isAwaited: () => boolean
}

export class ProgressRequests {
  readonly #options: ProgressRequestsOptions
  #askedFor: Revision | undefined = undefined
  #unanswered = 0
  /** A read has come while too many requests were in flight. */
  #isOwed = false
  #pauseMs: number
  #cancelTimer: CancelTimer | undefined = undefined
  #isStopped = false

  constructor(options: ProgressRequestsOptions) {
    this.#options = options
    this.#pauseMs = options.limits.progressBackoff.firstMs
  }

  /** A read waits for `revision`. */
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

  /** Asks once, even if no read waits. */
  ask(): void {
    if (this.#isStopped) return
    this.#unanswered++
    this.#options.send()
  }

  /** A mark has come. If it is below the revision that is needed, the requests continue. */
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
      // Requests that are unanswered by now count as lost, so that they do not use up the bound for
      // ever.
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
