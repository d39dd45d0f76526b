/** Collects how late events were, in memory of fixed size: the measuring process must not pause for
 *  garbage collection. */

const stepMs = 0.02
const maxMs = 20_000

export class Lags {
  readonly #counts = new Uint32Array(maxMs / stepMs)
  #size = 0

  note(lagMs: number): void {
    const step = Math.floor(Math.max(0, lagMs) / stepMs)
    this.#counts[Math.min(step, this.#counts.length - 1)]!++
    this.#size++
  }

  clear(): void {
    this.#counts.fill(0)
    this.#size = 0
  }

  /** The lag that a share of all events do not exceed, rounded up to a step; infinite when there
   *  were none. */
  percentileMs(share: number): number {
    let left = Math.max(1, Math.ceil(this.#size * share))
    for (const [step, count] of this.#counts.entries()) {
      left -= count
      if (left <= 0) return Math.round((step + 1) * stepMs * 1000) / 1000
    }
    return Infinity
  }
}
