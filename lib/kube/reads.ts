/** The contents that a planned read asks for, and what it gets: a snapshot of the mirror, or pages
 *  of etcd itself. */

import type { Elsewhere, Freshness, Key, KeyRange, Reader, Revision, Soon } from '@watchglass/base'
import type { PassReason } from './decide.ts'
import type { KeyValue, Snapshot } from '@watchglass/store'

export interface ReadRequest {
  readonly keyspace: Key
  readonly freshness: Freshness
  readonly elsewhere: Elsewhere
  /** The work that it is for another server: little for a get or a page, and much for the initial
   *  state of a watch, which would stay there. Absent for a watch from a revision. */
  readonly work?: 'little' | 'list' | 'watch' | undefined
  /** Contents of so long ago are wanted, where the freshness allows it. */
  readonly staleMs?: number | undefined
  readonly reader: Reader
}

/** Source that a read is answered from. */
export type Contents = Snapshot | DirectSource

/** Contents of keyspaces, as fresh as a read requires. */
export interface Reads {
  /** Place for all reads that the mirror cannot answer. */
  readonly elsewhere: Elsewhere
  /** A snapshot of the mirror, or, if the mirror cannot answer, where to read instead, or why the
   *  upstream is to answer: at once if nothing has to be waited for. Fails with the codes of the
   *  mirror's freshness gate. */
  read(request: ReadRequest): Soon<Contents | PassReason>
  /** The way in which the contents of a keyspace are known to be new; undefined where there is one
   *  way only. */
  proofOf?(keyspace: Key): string | undefined
}

/** etcd itself, for reads that the mirror cannot answer: only a few at a time. */
export interface DirectSource {
  /** Pages that etcd returns, all at one revision. Fails with `overloaded` if too many such reads
   *  are running. */
  pages(request: DirectRequest): AsyncIterable<DirectPage>
}

export interface DirectRequest {
  readonly range: KeyRange
  /** If it is left out: the revision that the read asked for, or the newest. */
  readonly revision?: Revision | undefined
  /** At most this many entries, in a single page. If it is left out: the whole range. */
  readonly limit?: number | undefined
  readonly signal: AbortSignal
}

export interface DirectPage {
  readonly revision: Revision
  readonly entries: readonly KeyValue[]
  /** Number of entries of the range after the page. */
  readonly remaining: number
}
