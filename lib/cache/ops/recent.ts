/** The last ten minutes of what counters say, for people who look now and have no Prometheus at
 *  hand: a look every few seconds, kept in a ring. Percentiles are estimated from the buckets of
 *  histograms, as Prometheus does it. */

import { type CancelTimer, type Clock, repeat } from '@watchglass/base'

/** The counts at one look. They only rise. */
export interface Look {
  /** Requests by who answered them. */
  readonly requests: ReadonlyMap<string, number>
  /** Events, by where they go. */
  readonly events: ReadonlyMap<string, number>
  /** Observations in each bucket, of each histogram. */
  readonly buckets: ReadonlyMap<string, BucketCounts>
  /** The lag of each keyspace, in seconds. */
  readonly lags: readonly number[]
}

export interface BucketCounts {
  /** Upper bounds; the last bucket has none. */
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
}

/** A value for each step, the oldest first; undefined where nothing was observed. */
export type Course = readonly (number | undefined)[]

export interface Percentiles {
  readonly p50: Course
  readonly p99: Course
}

const stepMs = 5_000
const stepsKept = 120
/** A young process shows the last two minutes: its first steps are not lost in an empty plot. */
const stepsShownMin = 24

/** The part of a step that is kept. */
interface Step {
  readonly requests: ReadonlyMap<string, number>
  readonly events: ReadonlyMap<string, number>
  readonly percentiles: ReadonlyMap<string, Both>
  readonly lag: Both
}

interface Both {
  readonly p50: number | undefined
  readonly p99: number | undefined
}

export interface RecentOptions {
  readonly clock: Clock
  readonly look: () => Look
}

export class Recent {
  readonly stepMs: number = stepMs
  readonly #options: RecentOptions
  readonly #steps: Step[] = []
  #before: { readonly look: Look; readonly atMs: number } | undefined
  #cancel: CancelTimer = () => {}

  constructor(options: RecentOptions) {
    this.#options = options
  }

  start(): void {
    this.#look()
    this.#cancel = repeat(this.#options.clock, stepMs, () => this.#look())
  }

  stop(): void {
    this.#cancel()
  }

  /** Requests a second, by who answered them. Every course has all steps. */
  get requests(): ReadonlyMap<string, Course> {
    return this.#rates(({ requests }) => requests)
  }

  /** Events a second, by where they go. */
  get events(): ReadonlyMap<string, Course> {
    return this.#rates(({ events }) => events)
  }

  /** Percentiles of a histogram, by its name. */
  percentiles(name: string): Percentiles {
    return this.#both(({ percentiles }) => percentiles.get(name))
  }

  /** Percentiles of the keyspaces' lags. */
  get lag(): Percentiles {
    return this.#both(({ lag }) => lag)
  }

  #rates(of: (step: Step) => ReadonlyMap<string, number>): ReadonlyMap<string, Course> {
    const names = new Set(this.#steps.flatMap(step => [...of(step).keys()]))
    return new Map([...names].map(name => [name, this.#course(step => of(step).get(name) ?? 0)]))
  }

  #both(of: (step: Step) => Both | undefined): Percentiles {
    return { p50: this.#course(step => of(step)?.p50), p99: this.#course(step => of(step)?.p99) }
  }

  #course(of: (step: Step) => number | undefined): Course {
    const missing = Math.max(0, stepsShownMin - this.#steps.length)
    return [...Array.from({ length: missing }, () => undefined), ...this.#steps.map(of)]
  }

  #look(): void {
    const { clock, look } = this.#options
    const now = { look: look(), atMs: clock.monotonicMs() }
    const before = this.#before
    this.#before = now
    if (before === undefined) return
    const ratesOf = (of: (look: Look) => ReadonlyMap<string, number>): Map<string, number> => {
      const seconds = (now.atMs - before.atMs) / 1000
      const earlier = of(before.look)
      return new Map(
        [...of(now.look)].map(([name, count]) => [
          name,
          // A thread that has ended takes its counts along.
          Math.max(0, count - (earlier.get(name) ?? 0)) / seconds,
        ]),
      )
    }
    const percentiles = [...now.look.buckets].map(([name, { bounds, counts }]): [string, Both] => {
      const earlier = before.look.buckets.get(name)?.counts
      const counted = counts.map((count, i) => Math.max(0, count - (earlier?.[i] ?? 0)))
      return [name, { p50: quantile(0.5, bounds, counted), p99: quantile(0.99, bounds, counted) }]
    })
    const lags = now.look.lags.toSorted((a, b) => a - b)
    const at = (part: number): number | undefined => lags[Math.ceil(lags.length * part) - 1]
    this.#steps.push({
      requests: ratesOf(({ requests }) => requests),
      events: ratesOf(({ events }) => events),
      percentiles: new Map(percentiles),
      lag: { p50: at(0.5), p99: at(0.99) },
    })
    if (this.#steps.length > stepsKept) this.#steps.shift()
  }
}

/** As Prometheus' histogram_quantile: values are taken to be spread evenly over their bucket; in
 *  the last one they are at its lower bound. Undefined if nothing was observed. */
export function quantile(
  part: number,
  bounds: readonly number[],
  counts: readonly number[],
): number | undefined {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return undefined
  let rank = part * all
  for (const [i, count] of counts.entries()) {
    const lower = bounds[i - 1] ?? 0
    const upper = bounds[i]
    if (upper === undefined) return lower
    if (rank <= count) return lower + (upper - lower) * (rank / count)
    rank -= count
  }
  return bounds.at(-1)
}
