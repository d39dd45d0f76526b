/** Decides when to open a short watch, whose bookmark is the proof of progress that somebody waits
 *  for: at once, and again each second as long as somebody waits, since a server behind may answer
 *  it. While askers come one after the other, the next ones are opened before they come: the
 *  upstream hands out bookmarks at ticks of about a second, and only one that is open then gets
 *  one. */

import type { CancelTimer, Clock } from '@watchglass/base'
import type { WatchLimits } from './limits.ts'

export interface ShortWatchesOptions {
  readonly clock: Clock
  readonly limits: Pick<
    WatchLimits,
    'shortEveryMs' | 'waitingMs' | 'owedMs' | 'askersMin' | 'askersWithinMs'
  >
  readonly open: () => void
}

export class ShortWatches {
  readonly #options: ShortWatchesOptions
  #openedMs = Number.NEGATIVE_INFINITY
  #askedMs = Number.NEGATIVE_INFINITY
  /** The moments at which askers came of whom nobody waited before. */
  #comings: number[] = []
  /** Somebody has asked, and no bookmark has come since. */
  #isOwed = false
  #cancel: CancelTimer | undefined = undefined

  constructor(options: ShortWatchesOptions) {
    this.#options = options
  }

  /** Somebody waits for progress: to be called again as long as that is so. */
  ask(): void {
    const { clock, limits } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#askedMs > limits.waitingMs) {
      this.#comings.push(nowMs)
      if (this.#comings.length > limits.askersMin) this.#comings.shift()
    }
    this.#askedMs = nowMs
    this.#isOwed = true
    if (nowMs - this.#openedMs >= limits.shortEveryMs) this.#open(nowMs)
    this.#schedule()
  }

  /** A bookmark has come. */
  answered(): void {
    this.#isOwed = false
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #open(nowMs: number): void {
    this.#openedMs = nowMs
    this.#options.open()
  }

  #schedule(): void {
    const { clock, limits } = this.#options
    const delayMs = Math.max(0, this.#openedMs + limits.shortEveryMs - clock.monotonicMs())
    this.#cancel ??= clock.setTimer(delayMs, () => {
      this.#cancel = undefined
      const nowMs = clock.monotonicMs()
      if (!this.#isWanted(nowMs)) return
      this.#open(nowMs)
      this.#schedule()
    })
  }

  #isWanted(nowMs: number): boolean {
    const { waitingMs, owedMs, askersMin, askersWithinMs } = this.#options.limits
    if (nowMs - this.#askedMs <= (this.#isOwed ? owedMs : waitingMs)) return true
    const [first] = this.#comings
    return (
      this.#comings.length === askersMin && first !== undefined && nowMs - first < askersWithinMs
    )
  }
}
