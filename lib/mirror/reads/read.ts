/** What a read of the mirror asks for, and how it can end. */

import type { Freshness } from '../../base/freshness.ts'
import type { Revision } from '../../base/revision.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import type { Progress } from '../feed/progress.ts'
import type { ProgressTrust } from '../feed/stream.ts'

/** Why the mirror does not answer a read that somebody else may. */
export type ElsewhereReason =
  | 'not-ready' // not restored yet
  | 'suspect' // restored, and not to be believed
  | 'progress-untrusted' // what is here may be new enough, but nothing proves it
  | 'revision-not-kept' // older than the history, though perhaps not for etcd

export type ReadOutcome =
  | {
      readonly from: 'mirror'
      readonly snapshot: Snapshot
      /** The mirror was cut off: there may be newer contents, which the read did not ask for. */
      readonly isStale: boolean
    }
  | { readonly from: 'elsewhere'; readonly reason: ElsewhereReason }

export interface ReadOptions {
  readonly freshness: Freshness
  /** There is an upstream, or the read is small enough for etcd itself: it need not wait for what may take long. */
  readonly canGoElsewhere: boolean
  /** Asked for only if the read has to wait: it may be made then. */
  readonly signal?: AbortSignal | undefined
}

/** What the gate needs to know of the feed that a keyspace belongs to. */
export interface GateFeed {
  readonly progress: Progress
  readonly trust: ProgressTrust
  /** Somebody waits for `revision`. */
  need(revision: Revision): void
}
