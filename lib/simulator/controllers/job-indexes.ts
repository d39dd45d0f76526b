/** Indexes of an Indexed job as its status shows them: `1,3-5,7` (orderedIntervals of upstream's
 *  job controller). Work is proportional to the intervals, not to the indexes: a job may have a
 *  hundred thousand completions. */

export interface IndexInterval {
  readonly first: number
  readonly last: number
}

export type IndexIntervals = readonly IndexInterval[]

/** Intervals below the number of completions; what cannot be read is left out. */
export function indexesFromText(text: string | undefined, completions: number): IndexIntervals {
  const read: IndexInterval[] = []
  for (const part of (text ?? '').split(',')) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (from === undefined) continue
    const first = Number(from)
    if (first >= completions) break
    read.push({ first, last: Math.min(Number(to), completions - 1) })
  }
  return merged(read)
}

export function textOfIndexes(intervals: IndexIntervals): string {
  return intervals
    .map(({ first, last }) => {
      if (first === last) return String(first)
      return `${first}${last === first + 1 ? ',' : '-'}${last}`
    })
    .join(',')
}

export function withIndexes(intervals: IndexIntervals, indexes: Iterable<number>): IndexIntervals {
  const added = [...indexes].map(index => ({ first: index, last: index }))
  return added.length === 0 ? intervals : merged([...intervals, ...added])
}

export function mergedIndexes(a: IndexIntervals, b: IndexIntervals): IndexIntervals {
  return merged([...a, ...b])
}

function merged(intervals: IndexInterval[]): IndexIntervals {
  const result: IndexInterval[] = []
  for (const { first, last } of intervals.sort((a, b) => a.first - b.first)) {
    const before = result.at(-1)
    if (before === undefined || first > before.last + 1) result.push({ first, last })
    else result[result.length - 1] = { first: before.first, last: Math.max(before.last, last) }
  }
  return result
}

export function indexCount(intervals: IndexIntervals): number {
  return intervals.reduce((total, { first, last }) => total + last - first + 1, 0)
}

export function hasIndex(intervals: IndexIntervals, index: number): boolean {
  let [low, high] = [0, intervals.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((intervals[middle]?.last ?? 0) >= index) high = middle
    else low = middle + 1
  }
  return (intervals[low]?.first ?? Infinity) <= index
}

/** The first indexes that are in none of the intervals. */
export function firstMissing(
  intervals: IndexIntervals,
  count: number,
  completions: number,
): number[] {
  const missing: number[] = []
  let candidate = 0
  for (const { first, last } of [...intervals, { first: completions, last: completions }]) {
    const end = Math.min(first, completions)
    while (candidate < end && missing.length < count) missing.push(candidate++)
    candidate = Math.max(candidate, last + 1)
  }
  return missing
}

/** The indexes that both have. */
export function commonIndexCount(a: IndexIntervals, b: IndexIntervals): number {
  let [count, i, j] = [0, 0, 0]
  for (;;) {
    const [left, right] = [a[i], b[j]]
    if (left === undefined || right === undefined) return count
    const overlap = Math.min(left.last, right.last) - Math.max(left.first, right.first) + 1
    count += Math.max(0, overlap)
    if (left.last <= right.last) i++
    if (right.last <= left.last) j++
  }
}
