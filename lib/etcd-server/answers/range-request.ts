/** The request of a range, and what is made of it and of contents: an answer's body, in etcd's
 *  order and with etcd's counts. */

import type { CacheError, ErrorCode, KeyRange, Revision } from '@watchglass/base'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { evaluateRange, type VersionedContents } from '../engine/kv.ts'
import { needsAll } from '../engine/range-order.ts'
import {
  EtcdError,
  type FailureName,
  type HeaderMessage,
  rangeCodec,
  type RangeMessage,
} from '@watchglass/etcd'
import type { GrpcCall } from '../listen/grpc-call.ts'
import { hasOnlyFields } from './known-fields.ts'
import type { MirroredPart } from './mirrored.ts'
import type { RangeBody } from './range-body.ts'

/** Entries that are sorted or filtered here: above it, one turn of the event loop would take too
 *  long. */
const sortedMax = 10_000

const lastRangeField = 13
const lastSortOrder = 2
const lastSortTarget = 4

/** Contents of a part at the revision that was asked for, and the header of the answer. */
export interface FoundContents {
  readonly contents: Snapshot
  readonly header: HeaderMessage
}

/** The request, if it is one that may be answered here. */
export function requestFrom(bytes: Buffer): RangeMessage | undefined {
  if (!hasOnlyFields(bytes, lastRangeField)) return undefined
  const request = rangeCodec.decode(bytes)
  const { key, sortOrder, sortTarget } = request
  const numbers = [
    request.limit,
    request.revision,
    request.minModRevision,
    request.maxModRevision,
    request.minCreateRevision,
    request.maxCreateRevision,
  ]
  const isKnown =
    key !== '' &&
    numbers.every(Number.isSafeInteger) &&
    isWithin(sortOrder, lastSortOrder) &&
    isWithin(sortTarget, lastSortTarget)
  return isKnown ? request : undefined
}

function isWithin(value: number, last: number): boolean {
  return value >= 0 && value <= last
}

/** The body of an answer; `undefined` if it would take too long to make. */
export function bodyOf(
  request: RangeMessage,
  range: KeyRange | undefined,
  { contents, header }: FoundContents,
): RangeBody | undefined {
  const { limit, keysOnly, countOnly } = request
  const isPlain =
    range !== undefined && !countOnly && !needsAll(request) && request.sortTarget === 0
  if (isPlain) {
    const count = contents.count(range)
    const wanted = limit > 0 ? limit : count
    const entries = (): Iterable<KeyValue> => first(contents.iterate(range), wanted)
    return { header, entries, withValues: !keysOnly, more: limit > 0 && count > limit, count }
  }
  if (range !== undefined && !countOnly && contents.count(range) > sortedMax) return undefined
  const { entries, more, count } = evaluateRange(versioned(contents), { ...request, revision: 0 })
  return { header, entries: () => entries, withValues: !keysOnly, more, count }
}

/** The first entries of an iteration. */
function* first(entries: Iterable<KeyValue>, count: number): Iterable<KeyValue> {
  let left = count
  for (const entry of entries) {
    if (left === 0) return
    left--
    yield entry
  }
}

/** Contents that are read at their own revision only. */
function versioned(contents: Snapshot): VersionedContents {
  return {
    revision: contents.revision,
    compactRevision: -1,
    get: key => contents.get(key),
    range: (range, options) => contents.range(range, options),
    count: range => contents.count(range),
    at: () => contents,
  }
}

/** The contents of a part at a revision that it keeps. */
export function contentsAt(part: MirroredPart, revision: Revision): Snapshot {
  const latest = part.latest()
  return revision >= latest.revision ? latest : part.store.at(revision)
}

/** etcd's words for what the freshness gate refuses. */
const refusals: Partial<Record<ErrorCode, FailureName>> = {
  overloaded: 'tooManyRequests',
  closed: 'stopped',
  source_failed: 'timeout',
  not_ready: 'timeout',
  future_revision: 'timeout',
}

/** A failure of the freshness gate, in etcd's words. */
export function failureOf(failure: CacheError): CacheError {
  const name = refusals[failure.code]
  return name === undefined ? failure : new EtcdError(name)
}

/** Aborted when the call is over. */
export function signalOf(call: GrpcCall): AbortSignal {
  const controller = new AbortController()
  call.onClose(() => controller.abort())
  return controller.signal
}
