/** The context that the parts of one mirror share. */

import type { Clock, KeyRange, Logger, Random } from '@watchglass/base'
import type { Source } from '@watchglass/etcd'
import type { HeldCheckpoint } from '../checkpoint.ts'
import type { LoadReport } from './bootstrap.ts'
import type { Epochs } from './epochs.ts'
import type { Landmarks } from './landmarks.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MemberVersions } from '../member-versions.ts'
import type { MirrorMetrics } from '../metrics.ts'
import type { KeyspaceOf, MirrorSink } from '../mirrored-keyspace.ts'
import type { PlainValues } from '../plain-values.ts'
import type { RevisionProbe } from '../reads/revision-probe.ts'

export interface FeedContext {
  readonly client: Source
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly logger: Logger
  readonly metrics: MirrorMetrics
  readonly sink: MirrorSink
  readonly epochs: Epochs
  readonly landmarks: Landmarks
  readonly probe: RevisionProbe
  readonly versions: MemberVersions
  readonly keyspaceOf: KeyspaceOf
  readonly plain?: PlainValues | undefined
  readonly checkpoint?: HeldCheckpoint | undefined
  /** Called with the progress of a bootstrap after each page. */
  readonly onLoad: (range: KeyRange, report: LoadReport) => void
  /** The epoch, the compacted revision, or the trust in progress has changed. */
  readonly onFactsChanged: () => void
  /** Aborted when the mirror is stopped. */
  readonly signal: AbortSignal
}
