/** Filters and sorts of a range, as etcd does them after it has read all entries of the range. */

import type { KeyValue } from '@watchglass/store'
import { type RangeMessage, sortOrder, sortTarget } from '@watchglass/etcd'
import { sortUnstably } from '@watchglass/go'

/** True when the limit applies after filters and sorting, so that every entry has to be read first.
 *  A sort target without an order is not enough: etcd then sorts what the limit has left. */
export function needsAll(request: RangeMessage): boolean {
  return request.sortOrder !== sortOrder.none || hasFilter(request)
}

/** etcd's words for a range that it does not stream; `undefined` if it does. */
export function unstreamable(request: RangeMessage): string | undefined {
  const { sortOrder: order, sortTarget: target } = request
  const isInOrder =
    order === sortOrder.none || (order === sortOrder.ascend && target === sortTarget.key)
  if (!isInOrder) return 'RangeStream does not support custom sort orders'
  return hasFilter(request) ? 'RangeStream does not support revision filters' : undefined
}

/** The request without the sort that its entries have anyway: for ranges that are streamed. */
export function unsorted(request: RangeMessage): RangeMessage {
  return { ...request, sortOrder: sortOrder.none, sortTarget: sortTarget.key }
}

/** The entries that pass the bounds on revisions. */
export function filterEntries(entries: KeyValue[], request: RangeMessage): KeyValue[] {
  if (!hasFilter(request)) return entries
  const { minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request
  return entries.filter(
    ({ modRevision, createRevision }) =>
      (maxModRevision === 0 || modRevision <= maxModRevision) &&
      (minModRevision === 0 || modRevision >= minModRevision) &&
      (maxCreateRevision === 0 || createRevision <= maxCreateRevision) &&
      (minCreateRevision === 0 || createRevision >= minCreateRevision),
  )
}

function hasFilter(request: RangeMessage): boolean {
  return (
    request.minModRevision !== 0 ||
    request.maxModRevision !== 0 ||
    request.minCreateRevision !== 0 ||
    request.maxCreateRevision !== 0
  )
}

/** The entries, which come in key order, as the request wants them sorted. A target without an
 *  order is sorted ascending. */
export function sortEntries(entries: KeyValue[], request: RangeMessage): KeyValue[] {
  if (request.sortOrder === sortOrder.none && request.sortTarget === sortTarget.key) return entries
  const isLess = lessBy(request.sortTarget)
  const sorted = entries.slice()
  if (request.sortOrder === sortOrder.descend) sortUnstably(sorted, (a, b) => isLess(b, a))
  else sortUnstably(sorted, isLess)
  return sorted
}

type IsLess = (a: KeyValue, b: KeyValue) => boolean

function lessBy(target: number): IsLess {
  switch (target) {
    case sortTarget.version:
      return (a, b) => a.version < b.version
    case sortTarget.create:
      return (a, b) => a.createRevision < b.createRevision
    case sortTarget.mod:
      return (a, b) => a.modRevision < b.modRevision
    case sortTarget.value:
      return (a, b) => compareValues(a, b) < 0
    default:
      return (a, b) => a.key < b.key
  }
}

/** Byte order of the values. */
function compareValues(a: KeyValue, b: KeyValue): number {
  return Buffer.compare(a.value, b.value)
}
