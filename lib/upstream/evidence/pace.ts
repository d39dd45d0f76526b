/** How much the comparisons may cost the upstream: so many a second, and so many bytes. An API server answers some thousands of such
 *  small questions a second on the cores that it usually has, and some hundred megabytes: this is one or two hundredths of either. */

const perSecond = 40
const bytesPerSecond = 3 * 1024 * 1024
/** After a rest, so much may be asked at once. */
const burstMs = 500

export class Pace {
  #freeAtMs = 0

  /** For how long the next question has to wait. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#freeAtMs - nowMs)
  }

  /** A question is asked. */
  asked(nowMs: number): void {
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - burstMs) + 1000 / perSecond
  }

  /** Its answer had so many bytes. */
  answered(bytes: number): void {
    const paidMs = 1000 / perSecond
    this.#freeAtMs += Math.max(0, (bytes / bytesPerSecond) * 1000 - paidMs)
  }
}
