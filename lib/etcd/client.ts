/** The part of etcd that the layers above need, and no more. Two things implement it: the gRPC
 *  client, and the embedded engine in process. Both are held to the same contract tests.
 *
 *  Failures are `CacheError`: `expired` (compacted), `future_revision`, `not_found` and `conflict`
 *  (leases), `unauthorized`, `invalid_request`, `overloaded` (no space, too many requests),
 *  `source_failed` (unreachable, no leader, timed out: worth another try) and `closed` (also when
 *  the caller's signal is aborted). */

import type { CacheError, Key, KeyRange, Revision } from '@watchglass/base'
import type { Change, KeyValue } from '@watchglass/store'
import type { OwnRevision } from './own-revision.ts'

/** The part of it that a mirror follows. A Kubernetes API implements it, too, for one resource
 *  (lib/source): its resourceVersions are revisions, its bookmarks progress. */
export interface Source {
  /** Its name for people, where it is no etcd. */
  readonly called?: string | undefined
  /** Addresses, for people. Absent where there are none. */
  readonly endpoints?: readonly string[] | undefined
  /** Revision of an etcd in this process whose history never goes back. */
  readonly ownRevision?: OwnRevision | undefined
  /** Number of connections that were made so far: on a new one another etcd may answer. Absent
   *  where there are none. */
  readonly connections?: number | undefined
  /** A watch tells progress although its start revision has not come yet: etcd does not. */
  readonly provesAhead?: boolean | undefined
  /** After a failure all keys may be compared: those of one resource are few beside an etcd's. */
  readonly isOneResource?: boolean | undefined
  /** Entries of a range in key order. Linearizable unless `serializable` is set. */
  range(request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse>
  /** The entries of a range in the parts that etcd streams (KEP-5966, etcd 3.7): it counts each key
   *  once. The next part is waited for when the one before has been taken. Absent where the client
   *  has no such call; fails with `unsupported` where etcd has none. */
  rangeParts?(request: RangeRequest, signal?: AbortSignal): AsyncIterable<RangePart>
  /** Opens a stream with one watcher on it: a progress request is answered only when every watcher
   *  of its stream is in sync. */
  watch(request: WatchRequest, sink: WatchSink): WatchStream
  /** Asks every endpoint; one that does not answer is reported, not thrown. Absent where the
   *  progress marks of all versions are sound. */
  status?(signal?: AbortSignal): Promise<readonly MemberStatus[]>
}

export interface Client extends Source {
  /** Always there: etcd has versions whose marks are not sound. */
  status(signal?: AbortSignal): Promise<readonly MemberStatus[]>
  /** Compares, then all of one list of operations, at one revision. */
  txn(request: TxnRequest, signal?: AbortSignal): Promise<TxnResponse>
  compact(revision: Revision, signal?: AbortSignal): Promise<void>
  /** Grants a lease; an id of `0n` lets etcd choose one. */
  grantLease(ttlSeconds: number, id: bigint, signal?: AbortSignal): Promise<Lease>
  revokeLease(id: bigint, signal?: AbortSignal): Promise<void>
  /** Prolongs a lease once. `not_found` when it has expired. */
  keepLeaseAlive(id: bigint, signal?: AbortSignal): Promise<Lease>
  /** Ends all streams and refuses further calls with `closed`. */
  close(): Promise<void>
}

/** The member that answered, and where its store stood. */
export interface ResponseHeader {
  readonly clusterId: bigint
  readonly memberId: bigint
  readonly raftTerm: bigint
  readonly revision: Revision
}

export interface RangeRequest {
  readonly range: KeyRange
  /** The revision to read at; absent: the newest. */
  readonly revision?: Revision | undefined
  /** At most so many entries; absent: all. */
  readonly limit?: number | undefined
  readonly keysOnly?: boolean | undefined
  readonly countOnly?: boolean | undefined
  /** Answered by any member from what it has, without asking the others. */
  readonly serializable?: boolean | undefined
}

/** A part of a range that etcd streams. */
export interface RangePart {
  /** In the last part only. */
  readonly header: ResponseHeader | undefined
  readonly entries: readonly KeyValue[]
}

export interface RangeResponse {
  readonly header: ResponseHeader
  readonly entries: readonly KeyValue[]
  /** The limit left entries out. */
  readonly more: boolean
  /** All entries of the range, with or without a limit. */
  readonly count: number
}

export type Operation =
  | {
      readonly type: 'put'
      readonly key: Key
      readonly value: Uint8Array
      readonly lease?: bigint | undefined
    }
  | { readonly type: 'delete'; readonly range: KeyRange }
  | { readonly type: 'range'; readonly request: RangeRequest }

export interface TxnCompare {
  readonly key: Key
  readonly target: 'modRevision' | 'createRevision' | 'version'
  readonly result: 'equal' | 'not equal' | 'greater' | 'less'
  readonly value: number
}

export interface TxnRequest {
  readonly compares: readonly TxnCompare[]
  readonly success: readonly Operation[]
  readonly failure: readonly Operation[]
}

export interface TxnResponse {
  readonly header: ResponseHeader
  readonly succeeded: boolean
  readonly results: readonly OperationResult[]
}

export type OperationResult =
  | { readonly type: 'put' }
  | { readonly type: 'delete'; readonly deleted: number }
  | { readonly type: 'range'; readonly response: RangeResponse }

export interface WatchRequest {
  readonly range: KeyRange
  /** The first revision wanted; absent: whatever comes next. */
  readonly startRevision?: Revision | undefined
  /** Asks etcd for progress on its own interval too (minutes, by default). */
  readonly progressNotify?: boolean | undefined
  /** Go elsewhere than to this endpoint, if there is another: it was found silent or behind. */
  readonly avoidEndpoint?: string | undefined
}

/** An open watch. */
export interface WatchStream {
  /** Endpoint that it is connected to. */
  readonly endpoint: string
  /** Asks for a progress mark. Answered by `progress` once the watcher is in sync, or never, by
   *  some etcd-like servers. */
  requestProgress(): void
  /** Has etcd wait, or go on. What has come already may still be delivered. Without it etcd cannot
   *  be made to wait. */
  hold?(isHeld: boolean): void
  /** Ends the stream. Nothing is delivered after it. */
  cancel(): void
}

/** All changes of one revision, in etcd's order. */
export interface RevisionChanges {
  readonly revision: Revision
  readonly changes: readonly Change[]
}

/** Receives what a watch delivers, in order, synchronously. `ended` is always the last call, and
 *  comes exactly once unless the stream was cancelled. */
export interface WatchSink {
  /** etcd has taken the watcher. */
  created(header: ResponseHeader): void
  /** One response with its fragments joined, one element a revision. The header's revision may be
   *  above the last of them and proves nothing. */
  changed(batches: readonly RevisionChanges[], header: ResponseHeader): void
  /** A response with no events that is neither created nor canceled: this member has delivered
   *  everything up to the header's revision. */
  progress(header: ResponseHeader): void
  /** The stream is over: `expired` with the compact revision in `details.oldest` when the start was
   *  compacted. */
  ended(failure: CacheError): void
}

export interface Lease {
  readonly id: bigint
  readonly ttlSeconds: number
}

export type MemberStatus =
  | {
      readonly endpoint: string
      readonly header: ResponseHeader
      readonly version: string
      readonly leader: bigint
      readonly databaseBytes: number
    }
  | { readonly endpoint: string; readonly failure: CacheError }
