/** A read of the mirror: what it asks for, and how it can end. */

import type { Elsewhere, Freshness, Reader, Revision } from '@watchglass/base'
import type { Snapshot } from '@watchglass/store'
import type { Progress } from '../feed/progress.ts'
import type { ProgressTrust } from '../feed/stream.ts'

/** Why the mirror does not answer a read, which may be answered elsewhere. */
export type ElsewhereReason =
  | 'not-ready' // not restored yet
  | 'suspect' // restored, but not trusted
  | 'cheaper-elsewhere' // a proof that the contents are new enough costs more
  | 'progress-untrusted' // the contents may be new enough, but nothing proves it
  | 'revision-not-kept' // older than the history, though perhaps not for etcd

export type ReadOutcome =
  | {
      readonly from: 'mirror'
      readonly snapshot: Snapshot
      /** The mirror is cut off: there may be newer contents, but the read does not require them. */
      readonly isStale: boolean
    }
  | { readonly from: 'elsewhere'; readonly reason: ElsewhereReason }

export interface ReadOptions {
  readonly freshness: Freshness
  readonly elsewhere: Elsewhere
  /** See `ReadRequest`. */
  readonly work?: 'little' | 'list' | 'watch' | undefined
  readonly reader?: Reader | undefined
}

/** The feed of a keyspace as the gate sees it. */
export interface GateFeed {
  readonly progress: Progress
  readonly trust: ProgressTrust
  /** A read waits for `revision`. */
  need(revision: Revision): void
}
