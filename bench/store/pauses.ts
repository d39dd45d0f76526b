/** The time for which the event loop is held: by our own slices of work, and by the collector,
 *  apart from each other. */

import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'

/** Our own slices shorter than this are not looked at again. */
const noticedMs = 0.2

interface Interval {
  readonly startMs: number
  readonly endMs: number
}

/** OpenWatches the collector from its making to `finish`, and times the slices that it is given. */
export class PauseObserver {
  readonly #collections: Interval[] = []
  readonly #slices: Interval[] = []
  readonly #observer: PerformanceObserver

  constructor() {
    const take = (entries: readonly PerformanceEntry[]): void => {
      for (const { startTime, duration } of entries) {
        this.#collections.push({ startMs: startTime, endMs: startTime + duration })
      }
    }
    this.#observer = new PerformanceObserver(list => take(list.getEntries()))
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  /** Times a slice of our own work. */
  slice<T>(work: () => T): T {
    const startMs = performance.now()
    const result = work()
    const endMs = performance.now()
    if (endMs - startMs >= noticedMs) this.#slices.push({ startMs, endMs })
    return result
  }

  /** The longest pause and the sum of all pauses of the collector, and the longest slice of ours
   *  without what the collector took of it. Entries arrive with a later turn of the loop. */
  async finish(): Promise<{ longestMs: number; totalMs: number; ownMs: number }> {
    await new Promise(resolve => setTimeout(resolve, 20))
    this.#observer.disconnect()
    const lengths = this.#collections.map(({ startMs, endMs }) => endMs - startMs)
    const own = this.#slices.map(slice => {
      const taken = this.#collections.map(collection => overlapMs(slice, collection))
      return slice.endMs - slice.startMs - taken.reduce((sum, ms) => sum + ms, 0)
    })
    return {
      longestMs: Math.max(0, ...lengths),
      totalMs: lengths.reduce((sum, ms) => sum + ms, 0),
      ownMs: Math.max(0, ...own),
    }
  }
}

function overlapMs(a: Interval, b: Interval): number {
  return Math.max(0, Math.min(a.endMs, b.endMs) - Math.max(a.startMs, b.startMs))
}
