/** The engine's side of state that lasts: what it decides goes to a journal before anybody sees
 *  it, and what a journal kept is what it begins with. Files are not known here
 *  (lib/etcd-server/journal). */

import type { CacheError, Revision, Steps } from '@watchglass/base'
import { type Change, type HistoryBounds, Keyspace } from '@watchglass/store'

/** One thing that the engine has decided. */
export type EngineDecision =
  | {
      readonly type: 'batch'
      readonly revision: Revision
      readonly changes: readonly Change[]
      /** The lease that has ended, and with it its keys; `noLease` for every other write. */
      readonly endedLease: bigint
    }
  | { readonly type: 'compaction'; readonly revision: number }
  /** A lease that was granted or kept alive: from now on it has its whole time. */
  | { readonly type: 'lease'; readonly id: bigint; readonly ttlSeconds: number }
  /** The end of a lease that had no keys. */
  | { readonly type: 'lease-end'; readonly id: bigint }

export interface Journal {
  /** The reason why nothing can be written now; undefined while all is well. */
  readonly refusal: CacheError | undefined
  /** Makes the bytes of a large decision, in steps. */
  encode(decision: EngineDecision): Steps<Uint8Array>
  /** Takes a decision, and its bytes if they are made already; calls `written`, in order, once a
   *  restart would find it. */
  append(decision: EngineDecision, written: () => void, bytes?: Uint8Array): void
}

/** The state of an engine that has ended. */
export interface RecoveredState {
  readonly contents: Keyspace
  readonly clusterId: bigint
  readonly memberId: bigint
  /** The term of the engine that has ended: the next one begins another. */
  readonly raftTerm: bigint
  readonly compactRevision: number
  readonly oldestBatch: number
  readonly leases: readonly RecoveredLease[]
}

export interface RecoveredLease {
  readonly id: bigint
  readonly ttlSeconds: number
  readonly remainingMs: number
}

const unbounded: HistoryBounds = { maxBatches: Infinity, maxAgeMs: Infinity, maxBytes: Infinity }

/** Contents for an engine: only the engine itself compacts them. */
export function createContents(): Keyspace {
  return new Keyspace(unbounded)
}
