/** A page of a paged read, and what such reads need. */

import type { Clock, Random, Revision } from '@watchglass/base'
import type { ResponseHeader, Source } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import type { MirrorLimits } from '../limits.ts'

export interface RangePage {
  /** The revision of all pages: that of the first one's header, or the one that was asked for. */
  readonly revision: Revision
  readonly header: ResponseHeader
  readonly entries: readonly KeyValue[]
  /** Size of keys and values. */
  readonly bytes: number
  /** Number of the range's entries after it. */
  readonly remaining: number
  /** The connections that the source had made when it was answered. */
  readonly connections: number | undefined
  readonly isLast: boolean
}

export interface PagesOptions {
  readonly client: Source
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly signal: AbortSignal
}
