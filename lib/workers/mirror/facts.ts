/** The facts that workers are told beside contents: the kinds of records, states and reasons
 *  as numbers, and what a thread has from its start. */

import type { KeyRange } from '@watchglass/base'
import type { KeyspaceState, MirrorLimits, ProgressTrust, ResetReason } from '@watchglass/cache'

/** The first byte of a record. */
export const recordKinds = {
  /** A keyspace has a number from now on. */
  keyspace: 1,
  /** A keyspace is not mirrored any more. */
  dropped: 2,
  state: 3,
  /** A keyspace has no contents. */
  cleared: 4,
  /** A part of a keyspace's contents at one revision. */
  entries: 5,
  /** The last entries of the contents have come: they replace the earlier contents. */
  restored: 6,
  /** Changes of one revision: all, or the next of a large transaction. */
  batch: 7,
  /** Nothing is missing in a feed's keyspaces up to a revision. */
  progress: 8,
  /** A mirror has begun, or has another history, or has ended. */
  epoch: 9,
  compacted: 10,
  /** Nothing names these slabs any more. */
  retired: 11,
  /** Values have another place in shared memory. */
  moved: 13,
  /** A record that is too long for the ring: it was sent another way. */
  elsewhere: 12,
} as const

export const states: readonly KeyspaceState[] = [
  'starting',
  'catching-up',
  'ready',
  'cut-off',
  'suspect',
]

export const reasons: readonly ResetReason[] = ['restored', 'distrusted', 'new epoch', 'dropped']

export const trusts: readonly ProgressTrust[] = ['unknown', 'trusted', 'old version', 'unanswered']

/** The mirrors that a worker has copies of: the ranges of the feeds of each. Feeds are
 *  numbered through. */
export type MirrorLayout = readonly (readonly KeyRange[])[]

/** The memory that all threads share, and what they know of the mirrors from their start. */
export interface SharedMemory {
  /** Undefined where mirrors begin on demand. Each has one feed then, which has its number. */
  readonly layout: MirrorLayout | undefined
  /** See `SeenRevisions`. */
  readonly seen: SharedArrayBuffer
  readonly mirrorsMax: number
  /** The limits of the mirrors, which are those of their copies. */
  readonly limits: MirrorLimits
  /** Revisions of each mirror whose etcd runs in this process: see `OwnRevision`. */
  readonly ownRevisions: readonly (SharedArrayBuffer | undefined)[]
}
