/** Answers ranges, and transactions that only read, from a mirror, exactly as etcd would; or finds
 *  that they must pass.
 *
 *  ```
 *  serializable        the newest contents, but not older than what this replica has said
 *  linearizable        through the freshness gate: etcd is asked for its revision, and the contents have reached it
 *  at a revision       etcd is asked whether it can be read; the contents come from the history
 *  ```
 *
 *  Passing are: what no part of the mirror holds whole, everything while the mirror is not ready
 *  or not trusted, revisions before the history, sorts and filters of very many entries, and
 *  options that we do not know. */

import {
  CacheError,
  type Clock,
  type ErrorCode,
  type Freshness,
  type KeyRange,
  type Revision,
  singleKey,
} from '@watchglass/base'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { evaluateRange, rangeFromWire, type VersionedContents } from '../engine/kv.ts'
import { needsAll, unsorted, unstreamable } from '../engine/range-order.ts'
import {
  EtcdError,
  type FailureName,
  type HeaderMessage,
  rangeCodec,
  type RangeMessage,
} from '@watchglass/etcd'
import type { GrpcCall } from '../listen/grpc-call.ts'
import { hasOnlyFields } from './known-fields.ts'
import type { MirroredEtcd, MirroredPart } from './mirrored.ts'
import { type RangeBody, sendRange, sendRangeParts } from './range-body.ts'
import type { AnsweredRevisions } from './answered-revisions.ts'
import { SharedChecks } from './shared-checks.ts'

/** Entries that are sorted or filtered here: above it, one turn of the event loop would take too
 *  long. */
const sortedMax = 10_000

const lastRangeField = 13
const lastSortOrder = 2
const lastSortTarget = 4

/** Contents of a part at the revision that was asked for, and the header of the answer. */
interface Found {
  readonly contents: Snapshot
  readonly header: HeaderMessage
}

export class RangeAnswers {
  readonly #etcd: MirroredEtcd
  readonly #answered: AnsweredRevisions
  readonly #clock: Clock
  readonly #checks: SharedChecks<Revision, HeaderMessage>

  constructor(etcd: MirroredEtcd, answered: AnsweredRevisions, clock: Clock) {
    this.#etcd = etcd
    this.#answered = answered
    this.#clock = clock
    this.#checks = new SharedChecks(revision => etcd.checkRevision(revision))
  }

  /** Answers a range; `undefined`, with nothing sent, if it must pass. Fails as etcd does. */
  async answer(call: GrpcCall, bytes: Buffer): Promise<'answered' | undefined> {
    const request = requestFrom(bytes)
    const body = request && (await this.#bodyOf(call, request))
    if (body === undefined) return undefined
    call.source = 'mirror'
    return (await sendRange(call, body, this.#clock)) ? 'answered' : undefined
  }

  /** Answers a range in parts; what etcd does not stream passes, and is refused there. */
  async answerInParts(call: GrpcCall, bytes: Buffer): Promise<'answered' | undefined> {
    const request = requestFrom(bytes)
    if (request === undefined || unstreamable(request) !== undefined) return undefined
    const body = await this.#bodyOf(call, unsorted(request))
    if (body === undefined) return undefined
    call.source = 'mirror'
    await sendRangeParts(call, body, this.#clock)
    return 'answered'
  }

  async #bodyOf(call: GrpcCall, request: RangeMessage): Promise<RangeBody | undefined> {
    const range = rangeFromWire(request.key, request.rangeEnd)
    const part = this.#etcd.partOf(range ?? singleKey(request.key))
    if (part?.isServed !== true) return undefined
    const found =
      request.revision > 0
        ? await this.#atRevision(part, request)
        : await this.#newest(part, request.serializable, call)
    return found && bodyOf(request, range, found)
  }

  async #newest(
    part: MirroredPart,
    isSerializable: boolean,
    call: GrpcCall,
  ): Promise<Found | undefined> {
    const { revision } = this.#answered
    if (isSerializable && part.isCutOff && call.metadata('hasleader') === 'true') return undefined
    if (isSerializable && part.proven >= revision) return this.#found(part.latest())
    if (isSerializable && part.isCutOff) return undefined
    const freshness: Freshness = isSerializable
      ? { type: 'not-older-than', revision }
      : { type: 'consistent' }
    const contents = await this.#read(part, freshness, call)
    return contents && this.#found(contents)
  }

  async #atRevision(part: MirroredPart, request: RangeMessage): Promise<Found | undefined> {
    const revision = request.revision as Revision
    const isKept = (): boolean =>
      part.isServed &&
      revision >= part.store.oldest &&
      revision >= this.#answered.compactRevision &&
      revision <= part.proven
    if (!isKept()) return undefined
    if (request.serializable) {
      const newest = await this.#serializableHeader(part)
      if (newest === undefined || !isKept()) return undefined
      return { contents: contentsAt(part, revision), header: newest }
    }
    const header = await this.#check(revision)
    // While etcd was asked, the history has gone on, and the epoch may have ended.
    if (header === undefined || !isKept()) return undefined
    return { contents: contentsAt(part, revision), header }
  }

  async #serializableHeader(part: MirroredPart): Promise<HeaderMessage | undefined> {
    return part.proven >= this.#answered.revision ? this.#etcd.header(part.proven) : undefined
  }

  /** The header of etcd's answer about a revision that it can read; `undefined` if it could not
   *  be asked. */
  async #check(revision: Revision): Promise<HeaderMessage | undefined> {
    try {
      return await this.#checks.ask(revision)
    } catch (error) {
      const { code } = CacheError.from(error, 'source_failed')
      if (code === 'expired') {
        this.#answered.compacted(revision + 1)
        throw new EtcdError('compacted')
      }
      return undefined
    }
  }

  async #read(
    part: MirroredPart,
    freshness: Freshness,
    call: GrpcCall,
  ): Promise<Snapshot | undefined> {
    try {
      return await part.read(freshness, () => signalOf(call))
    } catch (error) {
      throw failureOf(CacheError.from(error, 'source_failed'))
    }
  }

  #found(contents: Snapshot): Found {
    return { contents, header: this.#etcd.header(contents.revision) }
  }
}

/** The request, if it is one that may be answered here. */
function requestFrom(bytes: Buffer): RangeMessage | undefined {
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

/** The body of the answer; `undefined` if it would take too long to make. */
function bodyOf(
  request: RangeMessage,
  range: KeyRange | undefined,
  { contents, header }: Found,
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

function contentsAt(part: MirroredPart, revision: Revision): Snapshot {
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

function failureOf(failure: CacheError): CacheError {
  const name = refusals[failure.code]
  return name === undefined ? failure : new EtcdError(name)
}

/** Aborted when the call is over. */
function signalOf(call: GrpcCall): AbortSignal {
  const controller = new AbortController()
  call.onClose(() => controller.abort())
  return controller.signal
}
