/** Which ranges a mirror follows when some prefixes are left out. */

import { isEmptyRange, type KeyRange } from '@watchglass/base'

/** The rest of `whole` without the `excluded` ranges: ranges in order that do not overlap, one
 *  watch stream each. */
export function rangesWithout(whole: KeyRange, excluded: readonly KeyRange[]): KeyRange[] {
  let rest: KeyRange[] = [whole]
  for (const hole of excluded) rest = rest.flatMap(range => without(range, hole))
  return rest
}

function without(range: KeyRange, hole: KeyRange): KeyRange[] {
  const isApart =
    (hole.end !== undefined && hole.end <= range.start) ||
    (range.end !== undefined && range.end <= hole.start)
  if (isApart) return [range]
  const before = { start: range.start, end: hole.start }
  const after = hole.end === undefined ? [] : [{ start: hole.end, end: range.end }]
  return [before, ...after].filter(one => !isEmptyRange(one))
}
