/** Counters and histograms for what happens with every request: prom-client checks and hashes
 *  labels anew for each observation, which costs as much as a tenth of a small answer. These find
 *  their series by one text, and write the same format. */

/** The name, help and labels of a metric. */
export interface TallyOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

/** The most series of a metric. Labels are no text of clients, but a cluster may declare any number
 *  of resources, and an upstream answer with any code. What would be one series more is counted in
 *  a last one, whose labels are all `other`. */
export const seriesMax = 2_000

interface Series {
  readonly labels: string
  readonly values: readonly string[]
}

interface CountSeries extends Series {
  count: number
}

/** Counts by the values of labels. The caller gives values in the order of the names. */
export class CountTally {
  readonly options: TallyOptions
  readonly #counts: SeriesTable<CountSeries>

  constructor(options: TallyOptions) {
    this.options = options
    this.#counts = new SeriesTable(options, series => ({ ...series, count: 0 }))
  }

  add(values: readonly string[]): void {
    this.#counts.of(values).count++
  }

  /** The counts of each value of a label. */
  sums(labelName: string): ReadonlyMap<string, number> {
    const at = this.options.labelNames.indexOf(labelName)
    const sums = new Map<string, number>()
    for (const { values, count } of this.#counts.values()) {
      const value = values[at] ?? ''
      sums.set(value, (sums.get(value) ?? 0) + count)
    }
    return sums
  }

  /** In the Prometheus text format. */
  text(): string {
    const { name } = this.options
    const lines = [...this.#counts.values()].map(
      ({ labels, count }) => `${name}${braced(labels)} ${count}\n`,
    )
    return headText(this.options, 'counter') + lines.join('')
  }
}

/** Observed values in buckets; the last bucket has no bound. */
export class Buckets {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = [...bounds, 0].map(() => 0)
  }

  observe(value: number, times = 1): void {
    const { bounds, counts } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++
    counts[bucket]! += times
    this.sum += value * times
  }

  get count(): number {
    return this.counts.reduce((sum, count) => sum + count, 0)
  }
}

interface TimeSeries extends Series {
  /** Number of observations in each bucket; the last one has no bound. */
  readonly buckets: Buckets
}

/** Observed values by the values of labels, in buckets. */
export class BucketTally {
  readonly options: TallyOptions
  /** The upper bounds of the buckets; the last bucket has none. */
  readonly bounds: readonly number[]
  readonly #series: SeriesTable<TimeSeries>

  constructor(options: TallyOptions, bounds: readonly number[]) {
    this.options = options
    this.bounds = bounds
    this.#series = new SeriesTable(options, series => ({ ...series, buckets: new Buckets(bounds) }))
  }

  observe(values: readonly string[], value: number): void {
    this.#series.of(values).buckets.observe(value)
  }

  /** The observations of each bucket, for each value of a label. */
  sums(labelName: string): ReadonlyMap<string, readonly number[]> {
    const at = this.options.labelNames.indexOf(labelName)
    const sums = new Map<string, number[]>()
    for (const { values, buckets } of this.#series.values()) {
      const value = values[at] ?? ''
      const sum = sums.get(value)
      if (sum === undefined) sums.set(value, [...buckets.counts])
      else buckets.counts.forEach((count, i) => (sum[i]! += count))
    }
    return sums
  }

  /** In the Prometheus text format: each bucket includes the counts of those before it. */
  text(): string {
    const { name } = this.options
    let text = headText(this.options, 'histogram')
    for (const { labels, buckets } of this.#series.values()) {
      const { counts, sum } = buckets
      const rest = labels === '' ? '' : `,${labels}`
      let count = 0
      for (let i = 0; i < counts.length; i++) {
        count += counts[i]!
        text += `${name}_bucket{le="${this.bounds[i] ?? '+Inf'}"${rest}} ${count}\n`
      }
      text += `${name}_sum${braced(labels)} ${sum}\n${name}_count${braced(labels)} ${count}\n`
    }
    return text
  }
}

/** The series of a metric, by the values of its labels. */
class SeriesTable<S extends Series> {
  readonly #options: TallyOptions
  readonly #make: (series: Series) => S
  readonly #series = new Map<string, S>()
  #last: S | undefined = undefined

  constructor(options: TallyOptions, make: (series: Series) => S) {
    this.#options = options
    this.#make = make
  }

  of(values: readonly string[]): S {
    const last = this.#last
    const series = last !== undefined && areEqual(last.values, values) ? last : this.#find(values)
    this.#last = series
    return series
  }

  values(): Iterable<S> {
    return this.#series.values()
  }

  #find(values: readonly string[]): S {
    const key = values.join('\n')
    const known = this.#series.get(key)
    if (known !== undefined) return known
    if (this.#series.size >= seriesMax && !isOther(values)) {
      return this.#find(values.map(() => other))
    }
    const labels = labelsText(this.#options.labelNames, values)
    const made = this.#make({ labels, values })
    this.#series.set(key, made)
    return made
  }
}

/** Compares labels one by one: one series comes many times in a row, and to compare is cheaper than
 *  to join. */
function areEqual(some: readonly string[], others: readonly string[]): boolean {
  for (let i = 0; i < some.length; i++) if (some[i] !== others[i]) return false
  return true
}

const other = 'other'

function isOther(values: readonly string[]): boolean {
  return values.every(value => value === other)
}

/** The lines before the series of a metric. */
export function headText(
  { name, help }: Pick<TallyOptions, 'name' | 'help'>,
  type: 'counter' | 'gauge' | 'histogram',
): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

/** Labels as they stand between the braces. */
export function labelsText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, i) => `${name}="${escaped(values[i] ?? '')}"`).join(',')
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
