/** The mirrors as a service sees them. `MirrorSet` implements it with the mirrors themselves; a
 *  worker has its own implementation, which is fed by the thread that has the mirrors
 *  (lib/workers). */

import type { Key, KeyRange, Revision } from '@watchglass/base'
import type { RangePage } from './feed/page.ts'
import type { MirrorLimits } from './limits.ts'
import type { Mirror } from './mirror.ts'
import type { KeyspaceDescription, MirroredKeyspace } from './mirrored-keyspace.ts'
import type { DirectReadRequest } from './reads/direct-reads.ts'
import type { ReadOptions, ReadOutcome } from './reads/read.ts'
import type { KeyspaceStatus } from './status.ts'

export interface Mirrors {
  has(keyspace: string): boolean
  /** Whether all of a range is followed, so that a keyspace may lie there. */
  covers(range: KeyRange): boolean
  /** Starts to mirror a keyspace. */
  add(description: KeyspaceDescription): void
  drop(keyspace: string): void
  /** A keyspace is read that is not mirrored before somebody reads it. Absent where all are. */
  readonly want?: ((keyspace: Key) => void) | undefined
  start(): void
  stop(): Promise<void>
  /** The contents of a keyspace, fresh as asked for: see `FreshnessGate`. */
  read(keyspace: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome>
  /** The keyspace with its history: see `Mirror.keyspace`. Fails with `not_found`. */
  keyspace(name: string): MirroredKeyspace
  /** The revision up to which nothing is missing in a keyspace. */
  proven(name: string): Revision
  /** Requests the progress of every etcd that holds one of these keyspaces. */
  refresh(names: Iterable<string>): void
  /** The compacted revision of the keyspace's etcd; 0 when none is known. */
  compactRevision(name: string): Revision
  /** True for a revision that only an old epoch of the keyspace's etcd had. */
  isOfOldEpoch(name: string, revision: Revision): boolean
  /** Reads the keyspace's etcd itself, within bounds: see `DirectReads`. */
  readDirectly(name: string, request: DirectReadRequest): AsyncIterable<RangePage>
  statuses(): KeyspaceStatus[]
  /** Says why an etcd does not answer. Absent where no etcd is asked from here. */
  readonly outage?: (() => string | undefined) | undefined
  /** Time for which an etcd has given no answer: the longest of several. Absent as above. */
  readonly unansweredMs?: number | undefined
  /** The name of the check that tells it; that of etcd if it is left out. */
  readonly outageCheck?: string | undefined
  /** The keyspaces without which nothing can be served yet. Absent where these are all. */
  readonly awaited?: (() => KeyspaceStatus[]) | undefined
  /** The way in which progress of a keyspace was last proven. Absent where there is one way. */
  readonly proofOf?: ((keyspace: string) => string | undefined) | undefined
  /** The code with which the source refuses us a keyspace; undefined if it does not. Absent where
   *  it refuses all or nothing. */
  readonly refusalOf?: ((keyspace: Key) => number | undefined) | undefined
  readonly waitingReads: number
}

/** The mirrors in the thread that has them, which others have copies of (lib/workers). */
export interface OwnMirrors extends Mirrors {
  /** The mirrors that run now, or are about to. */
  readonly mirrors: readonly Mirror[]
  /** Mirrors begin and end while the process runs, each with one feed. */
  readonly isOnDemand: boolean
  readonly limits: MirrorLimits
}
