/** The text of a family in the format of Prometheus, made when it is asked for. */

import { Buckets, headText, labelsText } from '../../tally.ts'
import { familyOf } from './families.ts'

/** The buckets of a histogram. */
export function bucketsOf(name: string): Buckets {
  return new Buckets(familyOf(name).bounds ?? [])
}

/** The series of a family: the values of its labels in their order, and what is counted. */
export type Series = readonly [labels: readonly string[], value: number | Buckets]

/** The text of a family. Series that have the same labels are added up. */
export function familyText(name: string, series: Iterable<Series>): string {
  const { labels: labelNames, help, type } = familyOf(name)
  const sums = new Map<string, number>()
  const add = (key: string, value: number): void => {
    sums.set(key, (sums.get(key) ?? 0) + value)
  }
  for (const [values, value] of series) {
    const labels = labelsText(labelNames, values)
    if (typeof value === 'number') {
      add(`${name}{${labels}}`, value)
      continue
    }
    let count = 0
    for (const [i, inBucket] of value.counts.entries()) {
      count += inBucket
      add(`${name}_bucket{${labels},le="${value.bounds[i] ?? '+Inf'}"}`, count)
    }
    add(`${name}_sum{${labels}}`, value.sum)
    add(`${name}_count{${labels}}`, count)
  }
  const lines = [...sums].map(([key, value]) => `${key} ${value}\n`)
  return headText({ name, help }, type) + lines.join('')
}
