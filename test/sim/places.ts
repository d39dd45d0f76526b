/** The places at which clients of a simulated mirror read, and the bounds of all of them. */

import { defaultLimits, type MirrorLimits } from '../../lib/cache/mirror/limits.ts'
import type { Mirrors } from '../../lib/cache/mirror/mirrors.ts'
import type { HistoryBounds } from '../../lib/store/history.ts'
import type { MirrorChecks, Position } from './checks.ts'
import { keyspaceNames } from './keys.ts'
import type { SimThread } from './sim-threads.ts'

/** Small, so that histories end, reads wait and watchdogs bark within the time of a simulation. */
export const limits: MirrorLimits = {
  ...defaultLimits,
  pageMinEntries: 5,
  pageMaxEntries: 12,
  partMaxEntries: 25,
  readAheadMaxBytes: 500,
  selfCheckIntervalMs: 15_000,
  selfCheckPauseMs: 5,
  selfCheckPageEntries: 10,
  joinBufferMaxChanges: 200,
}

export const history: HistoryBounds = { maxBatches: 60, maxAgeMs: 20_000, maxBytes: 1e9 }

/** A watch: a list, and then whatever the history brings. */
export interface SimWatcher {
  readonly keyspace: string
  position: Position | undefined
  /** Number of times that its keyspace was reset. */
  resets: number
}

/** A place at which clients read: the mirror itself, or a worker with copies of it. */
export interface Place {
  readonly mirrors: Mirrors
  readonly thread: SimThread | undefined
  /** Checks of deliveries here: a thread that has stalled is told late what another epoch
   *  brought. */
  readonly checks: MirrorChecks
  /** Position of the sink in each keyspace. */
  readonly delivered: Map<string, Position>
  readonly watchers: readonly SimWatcher[]
}

export function placeOf(
  mirrors: Mirrors,
  thread: SimThread | undefined,
  checks: MirrorChecks,
): Place {
  const watchers = keyspaceNames.flatMap(keyspace =>
    [1, 2].map((): SimWatcher => ({ keyspace, position: undefined, resets: 0 })),
  )
  return { mirrors, thread, checks, delivered: new Map(), watchers }
}
