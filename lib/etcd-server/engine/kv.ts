/** The meaning of etcd's ranges, puts and deletes, on snapshots of the store. A range reads
 *  contents: a snapshot, or a transaction that is under way, which shows its own writes. A
 *  transaction gathers changes; its owner applies them at one revision. */

import {
  inRange,
  type Key,
  type KeyRange,
  nextRevision,
  type Revision,
  type Steps,
} from '@watchglass/base'
import { type Change, KeyValue, noLease, type Snapshot, type ValueWindow } from '@watchglass/store'
import {
  type DeleteRangeMessage,
  type DeleteRangeResponseMessage,
  EtcdError,
  type HeaderMessage,
  type PutMessage,
  type PutResponseMessage,
  type RangeMessage,
  type RangeResponseMessage,
} from '@watchglass/etcd'
import { changesAtOnce } from './at-once.ts'
import { comparedAtOnceMaxBytes, type CompareRoom, type EntryMaker } from './entry-maker.ts'
import type { Lessor } from './lease.ts'
import { filterEntries, needsAll, sortEntries } from './range-order.ts'

/** Contents that ranges read. */
export interface RangeContents {
  readonly revision: Revision
  get(key: Key): KeyValue | undefined
  /** In key order. */
  range(range: KeyRange, options: { limit?: number | undefined }): KeyValue[]
  count(range: KeyRange): number
}

/** Contents with a past. */
export interface VersionedContents extends RangeContents {
  /** Below it nothing can be read; -1 before the first compaction. */
  readonly compactRevision: number
  /** The contents at a revision that is neither compacted nor in the future. */
  at(revision: Revision): RangeContents
}

/** The range that etcd means by a key and a range end: `undefined` when it means the one key. */
export function rangeFromWire(key: Key, rangeEnd: Key): KeyRange | undefined {
  if (rangeEnd === '') return undefined
  return { start: key, end: rangeEnd === '\0' ? undefined : rangeEnd }
}

/** A header in which only the revision is known: what etcd gives to the parts of a transaction's
 *  answer. */
export function partialHeader(revision: number): HeaderMessage {
  return { clusterId: 0n, memberId: 0n, revision, raftTerm: 0n }
}

/** The contents that a range with this revision reads; refuses what is compacted or in the
 *  future. */
function contentsAt(contents: VersionedContents, revision: number): RangeContents {
  if (revision > contents.revision) {
    throw new EtcdError('futureRevision', { latest: contents.revision })
  }
  if (revision <= 0 || revision === contents.revision) return contents
  if (revision < contents.compactRevision) {
    throw new EtcdError('compacted', { oldest: contents.compactRevision })
  }
  return contents.at(revision as Revision)
}

/** Answers a range as etcd does. */
export function evaluateRange(now: VersionedContents, request: RangeMessage): RangeResponseMessage {
  const contents = contentsAt(now, request.revision)
  const { limit, countOnly, keysOnly } = request
  const range = rangeFromWire(request.key, request.rangeEnd)
  const header = partialHeader(now.revision)
  const single = range === undefined ? contents.get(request.key) : undefined
  const count = range === undefined ? (single === undefined ? 0 : 1) : contents.count(range)
  if (countOnly) return { header, entries: [], more: false, count }
  const found =
    range === undefined
      ? single === undefined
        ? []
        : [single]
      : contents.range(range, { limit: readLimit(request) })
  const passing = sortEntries(filterEntries(found, request), request)
  const more = limit > 0 && passing.length > limit
  const entries = more ? passing.slice(0, limit) : passing
  return { header, entries: keysOnly ? entries.map(withoutValue) : entries, more, count }
}

/** The number of entries to read: one more than wanted tells whether there are more. */
function readLimit(request: RangeMessage): number | undefined {
  return request.limit <= 0 || needsAll(request) ? undefined : request.limit + 1
}

const noValue: ValueWindow = { bytes: new Uint8Array(0), start: 0, end: 0 }

function withoutValue(entry: KeyValue): KeyValue {
  return new KeyValue(entry.key, noValue, entry)
}

/** Writes on top of a snapshot, gathered until they are applied as one revision. */
export class Transaction implements VersionedContents {
  readonly #base: VersionedContents
  readonly #snapshot: Snapshot
  readonly #lessor: Lessor
  readonly #maker: EntryMaker
  readonly #room: CompareRoom = { bytes: comparedAtOnceMaxBytes }
  readonly #changes: Change[] = []
  /** Keys that the changes touched, with the entry that is left of each. */
  #touched: Map<Key, KeyValue | undefined> | undefined = undefined

  constructor(
    base: VersionedContents,
    { snapshot, lessor, maker }: { snapshot: Snapshot; lessor: Lessor; maker: EntryMaker },
  ) {
    this.#base = base
    this.#snapshot = snapshot
    this.#lessor = lessor
    this.#maker = maker
  }

  get changes(): readonly Change[] {
    return this.#changes
  }

  /** The revision of the snapshot, or the next one once there is a change. */
  get revision(): Revision {
    const { revision } = this.#snapshot
    return this.#changes.length === 0 ? revision : nextRevision(revision)
  }

  get compactRevision(): number {
    return this.#base.compactRevision
  }

  at(revision: Revision): RangeContents {
    return revision === this.#snapshot.revision ? this.#snapshot : this.#base.at(revision)
  }

  get(key: Key): KeyValue | undefined {
    return this.#touched?.has(key) === true ? this.#touched.get(key) : this.#snapshot.get(key)
  }

  range(range: KeyRange, { limit }: { limit?: number | undefined }): KeyValue[] {
    const touched = this.#touched
    if (touched === undefined) return this.#snapshot.range(range, { limit })
    const untouched = this.#snapshot.range(range).filter(entry => !touched.has(entry.key))
    const written = [...touched.values()].filter(
      entry => entry !== undefined && inRange(entry.key, range),
    ) as KeyValue[]
    const merged = untouched.concat(written).sort((a, b) => (a.key < b.key ? -1 : 1))
    return limit === undefined ? merged : merged.slice(0, limit)
  }

  count(range: KeyRange): number {
    if (this.#touched === undefined) return this.#snapshot.count(range)
    return this.range(range, {}).length
  }

  /** Refuses a put that could not be done; changes nothing. */
  checkPut(request: PutMessage): void {
    this.checkEntry(request)
    this.checkLease(request)
  }

  /** Refuses a put that keeps something of an entry which is not there. */
  checkEntry({ key, ignoreValue, ignoreLease }: PutMessage): void {
    const needsEntry = ignoreValue || ignoreLease
    if (needsEntry && this.get(key) === undefined) throw new EtcdError('keyNotFound')
  }

  /** Refuses a put with a lease that is not there. */
  checkLease({ lease }: PutMessage): void {
    if (lease !== noLease && !this.#lessor.has(lease)) throw new EtcdError('leaseNotFound')
  }

  /** Puts an entry; the request has been checked. */
  put(request: PutMessage): PutResponseMessage {
    const { key } = request
    const before = this.get(key)
    const modRevision = nextRevision(this.#snapshot.revision)
    const lease = request.ignoreLease && before !== undefined ? before.lease : request.lease
    const value = request.ignoreValue && before !== undefined ? before.value : request.value
    const createRevision = before?.createRevision ?? modRevision
    const meta = { createRevision, modRevision, version: (before?.version ?? 0) + 1, lease }
    const entry = this.#maker.entry(key, value, meta, this.#room)
    if (before !== undefined) this.#lessor.detach(before.lease, key)
    this.#lessor.attach(lease, key)
    this.#change({ type: 'put', entry }, key, entry)
    return {
      header: partialHeader(this.revision),
      previous: request.previous ? before : undefined,
    }
  }

  *deleteRange(request: DeleteRangeMessage): Steps<DeleteRangeResponseMessage> {
    const range = rangeFromWire(request.key, request.rangeEnd)
    const single = this.get(request.key)
    const found =
      range === undefined ? (single === undefined ? [] : [single]) : this.range(range, {})
    yield* this.deleteAll(found)
    return {
      header: partialHeader(this.revision),
      deleted: found.length,
      previous: request.previous ? found : [],
    }
  }

  /** Deletes entries that are there. */
  *deleteAll(entries: readonly KeyValue[]): Steps<undefined> {
    for (let i = 0; i < entries.length; i++) {
      if (i > 0 && i % changesAtOnce === 0) yield
      this.delete(entries[i]!)
    }
    return undefined
  }

  /** Deletes an entry that is there. */
  delete(entry: KeyValue): void {
    this.#lessor.detach(entry.lease, entry.key)
    this.#change({ type: 'delete', key: entry.key }, entry.key, undefined)
  }

  #change(change: Change, key: Key, after: KeyValue | undefined): void {
    this.#changes.push(change)
    this.#touched ??= new Map()
    this.#touched.set(key, after)
  }
}
