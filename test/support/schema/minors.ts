/** One list of rows for all minor versions, out of one list for each: a row says since and until
 *  which minor it is true, where that is not from the first or to the last. Rows keep the order
 *  that they have in each list. */

/** The members that all rows may have; those of a merged row stand beside the others. */
export interface Period {
  readonly since?: string
  readonly until?: string
}

/** Rows that are the same in every respect are one row, unless they have changed places. `base` is
 *  the minor whose order counts most. */
export function mergeRows<Row>(
  lists: ReadonlyMap<string, readonly Row[]>,
  base: string,
): { readonly row: Row; readonly period: Period }[] {
  const union: { readonly key: string; readonly row: Row; readonly minors: Set<string> }[] = []
  for (const [minor, rows] of [...lists].sort(
    ([a], [b]) => Number(b === base) - Number(a === base),
  )) {
    let place = 0
    for (const row of rows) {
      const key = JSON.stringify(row)
      const found = union.findIndex((one, i) => i >= place && one.key === key)
      if (found < 0) union.splice(place, 0, { key, row, minors: new Set([minor]) })
      else union[found]?.minors.add(minor)
      place = (found < 0 ? place : found) + 1
    }
  }
  return union.flatMap(({ row, minors }) =>
    periodsOf([...lists.keys()], minor => minors.has(minor)).map(period => ({ row, period })),
  )
}

/** The stretches of minors in which something holds. */
export function periodsOf(minors: readonly string[], holds: (minor: string) => boolean): Period[] {
  const periods: Period[] = []
  for (let i = 0; i < minors.length; i++) {
    if (!holds(minors[i] as string)) continue
    const from = i
    while (i + 1 < minors.length && holds(minors[i + 1] as string)) i++
    periods.push({
      ...(from === 0 ? {} : { since: minors[from] as string }),
      ...(i === minors.length - 1 ? {} : { until: minors[i] as string }),
    })
  }
  return periods
}
