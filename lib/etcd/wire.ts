/** Between etcd's messages and what the layers above speak: ranges with an absent end, changes by
 *  revision, failures. */

import {
  CacheError,
  isEmptyRange,
  type Key,
  keyAfter,
  type KeyRange,
  knownMax,
  minKey,
  revision,
} from '@watchglass/base'
import { type Change, KeyValue, noLease } from '@watchglass/store'
import type {
  TxnCompare,
  Operation,
  OperationResult,
  RangeRequest,
  RangeResponse,
  ResponseHeader,
  RevisionChanges,
  TxnRequest,
  TxnResponse,
  WatchRequest,
} from './client.ts'
import type { WatchEvent } from './proto/key-value.ts'
import {
  type CompareMessage,
  type HeaderMessage,
  type OperationMessage,
  type RangeMessage,
  type RangeResponseMessage,
  type ResultMessage,
  type TxnMessage,
  type TxnResponseMessage,
  compareResult,
  compareTarget,
} from './proto/kv-messages.ts'
import type { WatchRequestHolder, WatchResponseMessage } from './proto/watch-messages.ts'

const zeroKey = keyAfter(minKey)
const oneKey = '\u0001' as Key

/** A range as etcd's `key` and `range_end`: no end for a single key, a zero byte for no upper
 *  bound. etcd has no key without bytes, so the smallest start is a zero byte too. */
export function keysFromRange(range: KeyRange): { key: Key; rangeEnd: Key } {
  const key = range.start === minKey ? zeroKey : range.start
  // The end that says 'nothing' could be one that etcd reads as 'everything'.
  if (isEmptyRange(range)) return { key: oneKey, rangeEnd: oneKey }
  if (range.end === undefined) return { key, rangeEnd: zeroKey }
  if (range.start !== minKey && range.end === keyAfter(range.start)) {
    return { key, rangeEnd: minKey }
  }
  // No key is below `\0`, but to etcd a range to `\0` is one without an end.
  return range.end === zeroKey ? { key: oneKey, rangeEnd: oneKey } : { key, rangeEnd: range.end }
}

/** Fails when there is none, which etcd never does, and when its revision is more than we can
 *  hold. */
export function headerFromMessage(header: HeaderMessage | undefined): ResponseHeader {
  if (header === undefined) throw new CacheError('source_failed', 'etcd response without a header')
  if (!Number.isSafeInteger(header.revision) || header.revision > knownMax) {
    throw new CacheError('source_failed', `etcd revision ${header.revision} is above 2^53 - 2^32`)
  }
  const { clusterId, memberId, raftTerm } = header
  return { clusterId, memberId, raftTerm, revision: revision(header.revision) }
}

export function messageFromRange(request: RangeRequest): RangeMessage {
  const { key, rangeEnd } = keysFromRange(request.range)
  return {
    key,
    rangeEnd,
    limit: request.limit ?? 0,
    revision: request.revision ?? 0,
    sortOrder: 0,
    sortTarget: 0,
    serializable: request.serializable ?? false,
    keysOnly: request.keysOnly ?? false,
    countOnly: request.countOnly ?? false,
    minModRevision: 0,
    maxModRevision: 0,
    minCreateRevision: 0,
    maxCreateRevision: 0,
  }
}

export function rangeFromMessage(message: RangeResponseMessage): RangeResponse {
  const { entries, more, count } = message
  return { header: headerFromMessage(message.header), entries, more, count }
}

export function messageFromTxn(request: TxnRequest): TxnMessage {
  return {
    compare: request.compares.map(messageFromCompare),
    success: request.success.map(operation => ({ operation: messageFromOperation(operation) })),
    failure: request.failure.map(operation => ({ operation: messageFromOperation(operation) })),
  }
}

export function txnFromMessage(message: TxnResponseMessage): TxnResponse {
  const header = headerFromMessage(message.header)
  const results = message.results.map(({ result }) => resultFromMessage(result, header))
  return { header, succeeded: message.succeeded, results }
}

/** A watch of one range, without previous values. Not in fragments, as API servers do not ask for
 *  them either: for each event etcd measures all events before it in its fragment, which takes it
 *  half a minute for the sixty thousand of a `del --prefix`. */
export function messageFromWatch(request: WatchRequest): WatchRequestHolder {
  const value = {
    ...keysFromRange(request.range),
    startRevision: request.startRevision ?? 0,
    progressNotify: request.progressNotify ?? false,
    filters: [],
    previous: false,
    watchId: 0n,
    fragment: false,
  }
  return { request: { type: 'create', value } }
}

/** Events by revision, in their order. Whether the order is right is for the reader to check. */
export function changesFromEvents(events: readonly WatchEvent[]): RevisionChanges[] {
  const batches: { revision: RevisionChanges['revision']; changes: Change[] }[] = []
  let batch: (typeof batches)[number] | undefined
  for (const event of events) {
    if (batch === undefined || batch.revision !== event.revision) {
      batch = { revision: event.revision, changes: [] }
      batches.push(batch)
    }
    const { after, key } = event
    batch.changes.push(
      after === undefined ? { type: 'delete', key } : { type: 'put', entry: after },
    )
  }
  return batches
}

/** Bound of what is kept of one response: etcd puts at most a thousand revisions into it. */
const joinedMaxBytes = 2 ** 30
/** About what is kept of an event beside its value. */
const eventBytes = 256

/** Joins the fragments of a big response: those that it came in, or the pieces that it is read
 *  in. */
export class FragmentJoiner {
  readonly #events: WatchEvent[] = []
  #keptBytes = 0

  /** The response with the events of the fragments before it, or `undefined` while there are more
   *  to come. */
  join(response: WatchResponseMessage): WatchResponseMessage | undefined {
    const isInBetween = this.#events.length > 0 && response.events.length === 0
    if (isInBetween) throw new CacheError('source_failed', 'etcd broke off a fragmented response')
    if (!response.fragment && this.#events.length === 0) return response
    // Not a spread: a million events are more than a call has room for.
    for (const event of response.events) {
      this.#events.push(event)
      this.#keptBytes += eventBytes + (event.after?.valueLength ?? 0)
    }
    if (this.#keptBytes > joinedMaxBytes) {
      throw new CacheError('source_failed', `a response of more than ${joinedMaxBytes} bytes`)
    }
    if (response.fragment) return undefined
    this.#keptBytes = 0
    return { ...response, events: this.#events.splice(0) }
  }
}

const results = {
  equal: compareResult.equal,
  'not equal': compareResult.notEqual,
  greater: compareResult.greater,
  less: compareResult.less,
} as const satisfies Record<TxnCompare['result'], number>

const targets = {
  version: compareTarget.version,
  createRevision: compareTarget.create,
  modRevision: compareTarget.mod,
} as const satisfies Record<TxnCompare['target'], number>

function messageFromCompare({ key, target, result, value }: TxnCompare): CompareMessage {
  return {
    result: results[result],
    target: targets[target],
    key,
    version: target === 'version' ? value : 0,
    createRevision: target === 'createRevision' ? value : 0,
    modRevision: target === 'modRevision' ? value : 0,
    value: new Uint8Array(0),
    lease: 0n,
    rangeEnd: minKey,
  }
}

function messageFromOperation(operation: Operation): OperationMessage {
  switch (operation.type) {
    case 'put': {
      const { key, value, lease = noLease } = operation
      const put = { key, value, lease, previous: false, ignoreValue: false, ignoreLease: false }
      return { type: 'put', value: put }
    }
    case 'delete':
      return {
        type: 'deleteRange',
        value: { ...keysFromRange(operation.range), previous: false },
      }
    case 'range':
      return { type: 'range', value: messageFromRange(operation.request) }
  }
}

/** The operations of a transaction have headers with a revision only, so they get the
 *  transaction's. */
function resultFromMessage(
  result: ResultMessage | undefined,
  header: ResponseHeader,
): OperationResult {
  switch (result?.type) {
    case 'put':
      return { type: 'put' }
    case 'deleteRange':
      return { type: 'delete', deleted: result.value.deleted }
    case 'range': {
      const { entries, more, count } = result.value
      return { type: 'range', response: { header, entries: entries.map(copied), more, count } }
    }
    case 'txn':
    case undefined:
      throw new CacheError('source_failed', 'etcd answered an operation that was not asked for')
  }
}

/** The entry with a value of its own. */
function copied(entry: KeyValue): KeyValue {
  const bytes = Buffer.from(entry.value)
  return new KeyValue(entry.key, { bytes, start: 0, end: bytes.length }, entry)
}
