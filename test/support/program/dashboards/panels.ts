/** The panels of dashboards, and the queries that many of them have. */

/** The units of a figure. */
export type Unit = 'short' | 's' | 'bytes' | 'Bps' | 'reqps' | 'percentunit' | 'none'

export interface Panel {
  readonly title: string
  readonly kind: 'stat' | 'graph' | 'bars'
  readonly unit: Unit
  /** Text that says what the panel shows, and when to worry. */
  readonly description: string
  /** Legend and query. `$of` is the selection of job and instance. */
  readonly queries: readonly (readonly [legend: string, query: string])[]
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

/** The jobs and instances that are chosen. */
export const of: string = 'job=~"$job",instance=~"$instance"'

/** A quantile of a histogram. */
export function quantile(q: string, histogram: string, labels = '', by = ''): string {
  const groups = by === '' ? 'le' : `le, ${by}`
  return `histogram_quantile(${q}, sum by (${groups}) (rate(${histogram}_bucket{${of}${labels}}[$__rate_interval])))`
}

/** The rate at which a counter rises. */
export function rate(counter: string, by: string, labels = ''): string {
  return `sum by (${by}) (rate(${counter}{${of}${labels}}[$__rate_interval]))`
}

/** Reads of resources. */
export const reads: string = ',verb=~"get|list|watch"'
