/** Notices a stream that is open but dead: no event or progress mark comes although one was
 *  requested, or its member does not advance although etcd is known to have a newer revision. The
 *  stream is then opened again at another endpoint. TCP and HTTP/2 keepalives do not notice a
 *  member that is partitioned or stuck. */

import { type CancelTimer, type Clock, repeat, type Revision } from '@watchglass/base'
import type { MirrorLimits } from '../limits.ts'

export type WatchdogVerdict = 'silent' | 'behind'

export interface WatchdogOptions {
  readonly clock: Clock
  readonly limits: MirrorLimits
  /** Asks for a progress mark. */
  readonly ask: () => void
  /** Ends the stream. Called once. */
  readonly giveUp: (verdict: WatchdogVerdict) => void
  readonly progress: () => Revision
  /** The highest revision that etcd is known to have; `undefined` while marks are not trusted,
   *  because a member that does not advance means nothing then. */
  readonly known: () => Revision | undefined
  /** The watch begins above every revision that etcd is known to have: since 3.4.38, 3.5.22 and
   *  3.6.2 it answers no progress request before it gets there, which on an idle etcd is never.
   *  Silence says nothing then. */
  readonly isStartAhead: () => boolean
}

interface Standstill {
  readonly progress: Revision
  readonly known: Revision
  readonly sinceMs: number
}

export class Watchdog {
  readonly #options: WatchdogOptions
  readonly #cancel: CancelTimer
  #lastHeardMs: number
  /** When progress was first requested since the last message, and when it was last requested. */
  #askedAtMs: number | undefined = undefined
  #lastAskedMs = -Infinity
  #isCreated = false
  #isHeld = false
  #hasAnswered = false
  #standstill: Standstill | undefined = undefined

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#lastHeardMs = options.clock.monotonicMs()
    this.#cancel = repeat(options.clock, options.limits.answerMaxMs / 4, this.#tick)
  }

  /** A message has arrived. */
  heard(what: 'created' | 'events' | 'progress'): void {
    this.#lastHeardMs = this.#options.clock.monotonicMs()
    this.#askedAtMs = undefined
    this.#isCreated = true
    if (what === 'progress') this.#hasAnswered = true
  }

  /** A progress mark was requested. */
  asked(): void {
    this.#lastAskedMs = this.#options.clock.monotonicMs()
    this.#askedAtMs ??= this.#lastAskedMs
  }

  /** Nothing of the stream is read for now, or it is read again: an answer that is on its way is
   *  not heard before. */
  held(isHeld: boolean): void {
    this.#isHeld = isHeld
    this.#lastHeardMs = this.#options.clock.monotonicMs()
    if (this.#askedAtMs !== undefined) this.#askedAtMs = this.#lastHeardMs
  }

  stop(): void {
    this.#cancel()
  }

  readonly #tick = (): void => {
    const { clock, ask, giveUp } = this.#options
    const verdict = this.#judge(clock.monotonicMs())
    if (verdict === 'silent' || verdict === 'behind') {
      this.stop()
      giveUp(verdict)
    } else if (verdict === 'quiet') ask()
  }

  #judge(nowMs: number): WatchdogVerdict | 'quiet' | 'fine' {
    const { limits } = this.#options
    if (this.#isHeld) return 'fine'
    const silentMs = nowMs - this.#lastHeardMs
    if (!this.#isCreated) return silentMs >= limits.createMaxMs ? 'silent' : 'fine'
    if (this.#options.isStartAhead()) {
      // Requests before now did not have to be answered.
      this.#askedAtMs = undefined
      this.#lastHeardMs = Math.max(this.#lastHeardMs, nowMs - limits.quietMaxMs)
      return nowMs - this.#lastAskedMs < limits.quietMaxMs ? 'fine' : 'quiet'
    }
    if (this.#hasAnswered) {
      if (this.#askedAtMs !== undefined && nowMs - this.#askedAtMs >= limits.answerMaxMs) {
        return 'silent'
      }
    } else if (silentMs >= limits.unansweredSilenceMaxMs) {
      return 'silent'
    }
    const standing = this.#judgeStandstill(nowMs)
    if (standing !== 'fine') return standing
    const isAsked = nowMs - this.#lastAskedMs < limits.quietMaxMs
    return silentMs >= limits.quietMaxMs && !isAsked ? 'quiet' : 'fine'
  }

  /** A mark below the revision that was known when the standstill began means that the member lags;
   *  a mark that rises means that it is catching up. */
  #judgeStandstill(nowMs: number): 'behind' | 'quiet' | 'fine' {
    const progress = this.#options.progress()
    const known = this.#options.known()
    if (known === undefined || progress >= known) {
      this.#standstill = undefined
      return 'fine'
    }
    if (this.#standstill === undefined || progress > this.#standstill.progress) {
      this.#standstill = { progress, known, sinceMs: nowMs }
      return 'quiet'
    }
    return nowMs - this.#standstill.sinceMs >= this.#options.limits.behindMaxMs ? 'behind' : 'quiet'
  }
}
