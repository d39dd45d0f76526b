/** Sorting in steps: runs of some thousand items are sorted at once, and merged by two. */

import { isStepDue, type Steps } from './slice.ts'

/** The items that a single step sorts, in about a millisecond. */
const sortedAtOnce = 2048

/** A sorted copy of a short list; undefined for one that takes steps. Most lists are short, and
 *  need no object for the steps of theirs. */
export function sortedIfShort<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Item[] | undefined {
  return items.length <= sortedAtOnce ? [...items].sort(compare) : undefined
}

/** A sorted copy. Equal items keep their order, as with `Array.prototype.sort`. */
export function* sortedInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<Item[]> {
  const short = sortedIfShort(items, compare)
  if (short !== undefined) return short
  let runs: Item[][] = []
  for (let from = 0; from < items.length; from += sortedAtOnce) {
    runs.push(items.slice(from, from + sortedAtOnce).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: Item[][] = []
    for (let i = 0; i < runs.length; i += 2) {
      const [left, right] = [runs[i] as Item[], runs[i + 1]]
      merged.push(right === undefined ? left : yield* merge(left, right, compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<Item[]> {
  const merged: Item[] = []
  let [l, r] = [0, 0]
  while (l < left.length || r < right.length) {
    if (isStepDue()) yield
    const isLeft =
      r === right.length || (l < left.length && compare(left[l] as Item, right[r] as Item) <= 0)
    merged.push((isLeft ? left[l++] : right[r++]) as Item)
  }
  return merged
}
