/** What a planned read asks for, and what it gets: a snapshot of the mirror, or pages of etcd itself. */

import type { Freshness } from '../base/freshness.ts'
import type { Key, KeyRange } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'
import type { KeyValue } from '../store/event.ts'
import type { Snapshot } from '../store/snapshot.ts'

export interface ReadRequest {
  readonly keyspace: Key
  /** What is looked at. The answer may hold more. */
  readonly range: KeyRange
  readonly freshness: Freshness
  /** Asked for only if the read has to wait: it may be made then. */
  readonly signal: AbortSignal
}

/** Contents of keyspaces, as fresh as a read asks for. */
export interface Reads {
  /** From the mirror, or, where it cannot tell, from where it can be read. Fails with the codes of the mirror's freshness gate. */
  read(request: ReadRequest): Promise<Snapshot | DirectSource>
}

/** etcd itself, for reads that the mirror cannot answer: only a few at a time. */
export interface DirectSource {
  /** Pages of its own answer, all at one revision. Fails with `overloaded` when too many are read already. */
  pages(request: DirectRequest): AsyncIterable<DirectPage>
}

export interface DirectRequest {
  readonly range: KeyRange
  /** Absent: the one that the read asked for, or the newest. */
  readonly revision?: Revision | undefined
  /** At most this many entries, in a single page. Absent: all of the range. */
  readonly limit?: number | undefined
  readonly signal: AbortSignal
}

export interface DirectPage {
  readonly revision: Revision
  readonly entries: readonly KeyValue[]
  /** How many entries of the range come after it. */
  readonly remaining: number
}
