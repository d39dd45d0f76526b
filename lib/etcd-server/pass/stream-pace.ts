/** The pace at which streams are opened at etcd that are reset soon after. Servers close a
 *  connection on which streams are reset in numbers (CVE-2023-44487: nghttp2 takes 1,000, and 33
 *  more a second; Go counts alike), and with it the streams of all our clients. So those beyond
 *  wait, and those who open them take turns. */

import type { CancelTimer, Clock } from '@watchglass/base'
import { Lines } from '@watchglass/cache'

/** More than the watchers of an API server that comes back after a long time. */
const atOnceMax = 500
const everyMs = 40

export class StreamPace {
  readonly #clock: Clock
  readonly #waiting = new Lines()
  #left = atOnceMax
  #atMs: number
  #cancelTimer: CancelTimer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs()
  }

  /** Calls `open` when a stream may be opened: at once, or in the turn of its owner. */
  next(owner: object, open: () => void): void {
    this.#refill()
    if (this.#waiting.size === 0 && this.#left >= 1) {
      this.#left--
      open()
    } else {
      this.#waiting.add(owner, open)
      this.#wait()
    }
  }

  stop(): void {
    this.#cancelTimer?.()
  }

  #wait(): void {
    this.#cancelTimer ??= this.#clock.setTimer(everyMs, () => {
      this.#cancelTimer = undefined
      this.#refill()
      while (this.#left >= 1) {
        const open = this.#waiting.take()
        if (open === undefined) return
        this.#left--
        open()
      }
      if (this.#waiting.size > 0) this.#wait()
    })
  }

  #refill(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#left = Math.min(atOnceMax, this.#left + (nowMs - this.#atMs) / everyMs)
    this.#atMs = nowMs
  }
}
