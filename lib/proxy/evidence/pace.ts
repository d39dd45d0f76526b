/** Limits the load of comparisons on the upstream, in requests and bytes a second. An API server on
 *  its usual number of cores answers some thousands of such small requests, or some hundred
 *  megabytes, a second: the limits are one or two percent of that. */

export interface PaceLimits {
  readonly perSecond: number
  readonly bytesPerSecond: number
}

export const defaultPace: PaceLimits = { perSecond: 40, bytesPerSecond: 3 * 1024 * 1024 }
/** The burst after a pause. */
const burstMs = 500

export class Pace {
  readonly #questionMs: number
  readonly #byteMs: number
  #freeAtMs = 0

  constructor({ perSecond, bytesPerSecond }: PaceLimits) {
    this.#questionMs = 1000 / perSecond
    this.#byteMs = 1000 / bytesPerSecond
  }

  /** Time that the next comparison has to wait. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#freeAtMs - nowMs)
  }

  /** Counts a request. */
  asked(nowMs: number): void {
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - burstMs) + this.#questionMs
  }

  /** Counts the bytes of its response. */
  answered(bytes: number): void {
    this.#freeAtMs += Math.max(0, bytes * this.#byteMs - this.#questionMs)
  }
}
