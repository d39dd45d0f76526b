/** Counters of the mirror. The metrics registry implements this, and tests do. */

import type { FreshnessType } from '@watchglass/base'
import type { ViolationKind } from './feed/order.ts'

export interface MirrorMetrics {
  violation(kind: ViolationKind): void
  /** A revision probe has ended; `reads` is how many reads shared it. */
  probe(outcome: 'answered' | 'failed' | 'went-back', reads: number, tookMs: number): void
  progressRequest(): void
  /** A read is over. */
  read(freshness: FreshnessType, outcome: ReadResult, waitedMs: number): void
  /** A read was answered while the mirror was cut off. */
  staleRead(): void
  directRead(size: 'whole' | 'small', outcome: 'answered' | 'failed' | 'refused'): void
  /** A paged read of a whole range began, and why. */
  bootstrap(reason: BootstrapReason): void
  /** Entries that a bootstrap has loaded, and their bytes. */
  loaded(entries: number, bytes: number): void
  /** A stream has ended, and a new one will be opened. */
  reconnect(reason: string): void
  selfCheck(outcome: 'agreed' | 'differed' | 'abandoned'): void
  newEpoch(): void
  /** Events applied to keyspaces, and those that belong to none. */
  events(matched: number, unmatched: number): void
}

/** The ends of a read: answered from the mirror, sent elsewhere, or the code of its failure. */
export type ReadResult = 'mirror' | 'elsewhere' | 'refused'

export type BootstrapReason = 'start' | 'compacted' | 'violation' | 'new-epoch' | 'joined'

/** Counts nothing. */
export const noMetrics: MirrorMetrics = {
  violation: ignore,
  probe: ignore,
  progressRequest: ignore,
  read: ignore,
  staleRead: ignore,
  directRead: ignore,
  bootstrap: ignore,
  loaded: ignore,
  reconnect: ignore,
  selfCheck: ignore,
  newEpoch: ignore,
  events: ignore,
}

function ignore(): void {}
