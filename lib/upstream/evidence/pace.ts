/** How much the comparisons may cost the upstream: so many a second, and so many bytes. An API server answers some thousands of such
 *  small questions a second on the cores that it usually has, and some hundred megabytes: this is one or two hundredths of either. */

export interface PaceLimits {
  readonly perSecond: number
  readonly bytesPerSecond: number
}

export const defaultPace: PaceLimits = { perSecond: 40, bytesPerSecond: 3 * 1024 * 1024 }
/** After a rest, so much may be asked at once. */
const burstMs = 500

export class Pace {
  readonly #questionMs: number
  readonly #byteMs: number
  #freeAtMs = 0

  constructor({ perSecond, bytesPerSecond }: PaceLimits) {
    this.#questionMs = 1000 / perSecond
    this.#byteMs = 1000 / bytesPerSecond
  }

  /** For how long the next question has to wait. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#freeAtMs - nowMs)
  }

  /** A question is asked. */
  asked(nowMs: number): void {
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - burstMs) + this.#questionMs
  }

  /** Its answer had so many bytes. */
  answered(bytes: number): void {
    this.#freeAtMs += Math.max(0, bytes * this.#byteMs - this.#questionMs)
  }
}
