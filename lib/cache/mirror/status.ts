/** The status of a mirrored keyspace: its state, and how far it is behind etcd. */

import type { Revision } from '@watchglass/base'
import type { LoadReport } from './feed/bootstrap.ts'
import type { Feed } from './feed/feed.ts'
import type { MirroredKeyspace } from './mirrored-keyspace.ts'
import type { KeyspaceState } from './state.ts'
import type { ProgressTrust } from './feed/stream.ts'

export interface KeyspaceStatus {
  readonly name: string
  readonly state: KeyspaceState
  /** For how long it has been in that state. */
  readonly stateMs: number
  /** The keyspace is complete up to here. */
  readonly revision: Revision
  readonly oldest: Revision
  /** For how long a client may be away and still watch on; undefined while that is without end. */
  readonly historyMs: number | undefined
  readonly entries: number
  /** Number of revisions that etcd is known to be ahead. */
  readonly lagRevisions: number
  /** For how long the mirror has not been known to be up to date with etcd; 0 while it is. */
  readonly lagMs: number
  /** Whether consistent reads are decided by progress marks. */
  readonly trust: ProgressTrust
  readonly endpoint: string | undefined
  /** The progress of the last bootstrap of its feed. */
  readonly load: LoadReport | undefined
}

export function statusOf(
  keyspace: MirroredKeyspace,
  feed: Feed,
  { nowMs, witnessed }: { readonly nowMs: number; readonly witnessed: Revision },
): KeyspaceStatus {
  const { revision: joined, oldest } = keyspace.store
  const revision = joined > feed.progress.revision ? joined : feed.progress.revision
  return {
    name: keyspace.name,
    state: keyspace.state,
    stateMs: nowMs - keyspace.stateSinceMs,
    revision,
    oldest,
    historyMs: keyspace.store.historyReachMs(nowMs),
    entries: keyspace.store.latest().size,
    lagRevisions: Math.max(0, witnessed - revision),
    lagMs: feed.lagMs(nowMs),
    trust: feed.trust,
    endpoint: feed.endpoint,
    load: feed.loadReport,
  }
}
