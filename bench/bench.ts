/** A benchmark: it measures at one of two sizes, and has floors that its figures must meet. Figures
 *  are compared as ratios within one run, because machines are noisy. */

export interface Bench {
  readonly name: string
  /** One line for `npm run bench`. */
  readonly summary: string
  run(options: BenchOptions): Promise<BenchResult>
}

export interface BenchOptions {
  /** `small` runs in the tests, in seconds, so that the bench cannot rot; its floors are not
   *  judged. */
  readonly size: 'small' | 'full'
  /** Says what is being measured now; on a terminal only. */
  readonly progress: (message: string) => void
  /** Words; only what has one of them in its name is measured. All, if there is none. Only
   *  `attacks`, `threads`, `http`, `watch` (whose `burst` it is) and `clusters` (whose `real` etcds
   *  it asks for) look at it. */
  readonly only?: readonly string[] | undefined
  /** A server that is there already, to be measured beside ours, and the process whose processor
   *  time is its. Only `http`, `resume` and `source` look at it. */
  readonly against?: { readonly url: string; readonly pid: number | undefined } | undefined
}

export interface BenchResult {
  readonly tables: readonly BenchTable[]
  readonly floors: readonly Floor[]
  /** A digest of what the measured code answered, so that nothing is optimised away or silently
   *  changed. */
  readonly resultHash: string
}

export interface BenchTable {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

/** A figure that must be at least, or at most, a limit. */
export interface Floor {
  readonly name: string
  readonly value: number
  readonly bound: 'at least' | 'at most'
  readonly limit: number
  readonly unit: string
}

/** A figure that may be no more than that. */
export function atMost(name: string, value: number, limit: number, unit: string): Floor {
  return { name, value, bound: 'at most', limit, unit }
}

export function isMet(floor: Floor): boolean {
  return floor.bound === 'at least' ? floor.value >= floor.limit : floor.value <= floor.limit
}

/** The middle value; of an even count, the lower of the two in the middle. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** The smallest value that at least `share` of all values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  if (value === undefined) throw new RangeError('no values to take a percentile of')
  return value
}
