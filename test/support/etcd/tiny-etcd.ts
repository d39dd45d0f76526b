/** A minimal etcd for tests of the mirror: a list of revisions and a `Client` on it. Ranges are
 *  answered at once unless a test holds them; a watch delivers what the test tells it to, right or
 *  wrong. */

import { CacheError } from '../../../lib/base/errors.ts'
import { type Key, inRange, type KeyRange, keyFromText } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import type {
  Client,
  MemberStatus,
  RangeRequest,
  RangeResponse,
  ResponseHeader,
  RevisionChanges,
  WatchRequest,
  WatchSink,
  WatchStream,
} from '../../../lib/etcd/client.ts'
import { type Change, KeyValue } from '../../../lib/store/event.ts'

/** The writes of a test: a value, or `undefined` for a delete. */
export type Writes = Readonly<Record<string, string | undefined>>

export class TinyEtcd implements Client {
  clusterId = 1n
  raftTerm = 2n
  version = '3.5.30'
  endpoints: string[] = ['one']
  connections: number | undefined = undefined
  /** Ranges wait while this is set; a test may replace what they answer. */
  held: Promise<void> | undefined = undefined
  /** Called before a range is answered; may throw what the client is to throw. */
  onRange: (request: RangeRequest) => void = () => {}
  compacted = 0
  readonly ranges: RangeRequest[] = []
  readonly watches: TinyWatch[] = []
  batches: RevisionChanges[] = []
  #revision = 1

  get revision(): Revision {
    return revision(this.#revision)
  }

  get header(): ResponseHeader {
    return this.headerAt(this.#revision)
  }

  /** The last watch that was opened. */
  get lastWatch(): TinyWatch {
    const watch = this.watches.at(-1)
    if (watch === undefined) throw new Error('no watch was opened')
    return watch
  }

  headerAt(at: number): ResponseHeader {
    const { clusterId, raftTerm } = this
    return { clusterId, memberId: 1n, raftTerm, revision: revision(at) }
  }

  /** Writes at the next revision, and delivers nothing. */
  write(writes: Writes): RevisionChanges {
    this.#revision++
    const batch = changesAt(this.#revision, writes, this.#entriesAt(this.#revision - 1))
    this.append(batch)
    return batch
  }

  /** Takes changes that were made elsewhere. */
  append(batch: RevisionChanges): void {
    this.#revision = batch.revision
    this.batches.push(batch)
  }

  /** Writes, and delivers to every open watch that it concerns. */
  put(writes: Writes): RevisionChanges {
    const batch = this.write(writes)
    for (const watch of this.watches) watch.deliver([batch])
    return batch
  }

  /** Goes back to an earlier revision, as a restored backup does. */
  restoreTo(at: number, clusterId: bigint = this.clusterId): void {
    this.batches = this.batches.filter(batch => batch.revision <= at)
    this.#revision = at
    this.clusterId = clusterId
  }

  async range(request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse> {
    this.ranges.push(request)
    if (this.held !== undefined) await abortable(this.held, signal)
    this.onRange(request)
    const at = request.revision ?? this.#revision
    if (at < this.compacted) throw new CacheError('expired', `${at} is compacted`)
    if (at > this.#revision) throw new CacheError('future_revision', `${at} is not yet`)
    const entries = [...this.#entriesAt(at).values()]
      .filter(({ key }) => inRange(key, request.range))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
    const limit = request.limit ?? Infinity
    const count = entries.length
    if (request.countOnly === true) return { header: this.header, entries: [], more: false, count }
    const sent = entries.slice(0, limit)
    const answered = request.keysOnly === true ? sent.map(withoutValue) : sent
    return { header: this.header, entries: answered, more: count > limit, count }
  }

  watch(request: WatchRequest, sink: WatchSink): WatchStream {
    const others = this.endpoints.filter(name => name !== request.avoidEndpoint)
    const watch = new TinyWatch(this, request, sink, others[0] ?? this.endpoints[0]!)
    this.watches.push(watch)
    return watch
  }

  async status(): Promise<readonly MemberStatus[]> {
    return this.endpoints.map(endpoint => ({
      endpoint,
      header: this.header,
      version: this.version,
      leader: 1n,
      databaseBytes: 0,
    }))
  }

  txn: () => never = unused
  compact: () => never = unused
  grantLease: () => never = unused
  revokeLease: () => never = unused
  keepLeaseAlive: () => never = unused
  close = async (): Promise<void> => {}

  #entriesAt(at: number): Map<Key, KeyValue> {
    const entries = new Map<Key, KeyValue>()
    for (const batch of this.batches) {
      if (batch.revision > at) break
      for (const change of batch.changes) {
        if (change.type === 'put') entries.set(change.entry.key, change.entry)
        else entries.delete(change.key)
      }
    }
    return entries
  }
}

function withoutValue(entry: KeyValue): KeyValue {
  return new KeyValue(entry.key, { bytes: Buffer.alloc(0), start: 0, end: 0 }, entry)
}

/** A watch as etcd's end sees it. */
export class TinyWatch implements WatchStream {
  readonly endpoint: string
  readonly request: WatchRequest
  readonly sink: WatchSink
  progressRequests = 0
  isCancelled = false
  /** Called when progress is asked for; by default nobody answers. */
  onProgressRequest: () => void = () => {}
  readonly #etcd: TinyEtcd

  constructor(etcd: TinyEtcd, request: WatchRequest, sink: WatchSink, endpoint: string) {
    this.#etcd = etcd
    this.request = request
    this.sink = sink
    this.endpoint = endpoint
  }

  requestProgress(): void {
    this.progressRequests++
    this.onProgressRequest()
  }

  cancel(): void {
    this.isCancelled = true
  }

  /** Accepts the watcher, brings what it has missed, and answers progress requests from now on. */
  accept(): void {
    this.sink.created(this.#etcd.header)
    const from = this.request.startRevision ?? 0
    this.deliver(this.#etcd.batches.filter(one => one.revision >= from))
    this.onProgressRequest = () => this.progress()
    if (this.progressRequests > 0) this.progress()
  }

  /** Delivers the changes that lie in the range. */
  deliver(batches: readonly RevisionChanges[], header: ResponseHeader = this.#etcd.header): void {
    if (this.isCancelled) return
    const matching = batches
      .map(batch => ({ ...batch, changes: changesIn(batch.changes, this.request.range) }))
      .filter(batch => batch.changes.length > 0)
    if (matching.length > 0) this.sink.changed(matching, header)
  }

  progress(at: number = this.#etcd.revision): void {
    if (!this.isCancelled) this.sink.progress(this.#etcd.headerAt(at))
  }

  fail(code: 'source_failed' | 'expired' = 'source_failed'): void {
    if (!this.isCancelled) this.sink.ended(new CacheError(code, 'the test ends the stream'))
  }
}

/** The changes of one revision, as etcd would have them after `before`. */
export function changesAt(
  at: number,
  writes: Writes,
  before: ReadonlyMap<Key, KeyValue> = new Map(),
): RevisionChanges {
  const changes = Object.entries(writes).map(([text, value]): Change => {
    const key = keyFromText(text)
    if (value === undefined) return { type: 'delete', key }
    const bytes = Buffer.from(value)
    const old = before.get(key)
    const entry = new KeyValue(
      key,
      { bytes, start: 0, end: bytes.length },
      {
        createRevision: old?.createRevision ?? revision(at),
        modRevision: revision(at),
        version: (old?.version ?? 0) + 1,
        lease: 0n,
      },
    )
    return { type: 'put', entry }
  })
  return { revision: revision(at), changes }
}

function changesIn(changes: readonly Change[], range: KeyRange): readonly Change[] {
  return changes.filter(change =>
    inRange(change.type === 'put' ? change.entry.key : change.key, range),
  )
}

async function abortable(held: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = new Promise<never>((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new CacheError('closed', 'cancelled')))
  })
  await Promise.race([held, aborted])
}

function unused(): never {
  throw new Error('the mirror does not call this')
}
