/** Answers the reads of the API from the mirror. Where the mirror cannot answer, the request passes
 *  to the upstream; without an upstream, etcd itself is read, a few reads at a time and each only
 *  of the range that it needs. */

import type { ReadOutcome } from '../mirror/reads/read.ts'
import type { Clock, Elsewhere, Key, Soon } from '@watchglass/base'
import type { Contents, DirectSource, PassReason, ReadRequest, Reads } from '@watchglass/kube'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Snapshot } from '@watchglass/store'

/** A read that required a revision, and who answered it. */
export interface WaitedRead {
  readonly waitedMs: number
  readonly from: 'mirror' | 'elsewhere' | 'failed'
  readonly isConsistent: boolean
}

/** Counts reads as the metrics of kube-apiserver do. */
export interface ReadReports {
  /** A read that requires a revision has waited for it. */
  waited(keyspace: string, read: WaitedRead): void
}

export interface MirrorReadsOptions {
  readonly mirrors: Mirrors
  readonly clock: Clock
  readonly hasUpstream?: boolean
  /** Undefined where the names of kube-apiserver are not asked for. */
  readonly reports?: ReadReports | undefined
}

export class MirrorReads implements Reads {
  readonly #mirrors: Mirrors
  readonly #clock: Clock
  readonly #reports: ReadReports | undefined
  readonly elsewhere: Elsewhere

  constructor({ mirrors, clock, hasUpstream = false, reports }: MirrorReadsOptions) {
    this.#mirrors = mirrors
    this.#reports = reports
    this.#clock = clock
    this.elsewhere = hasUpstream ? 'anywhere' : 'etcd'
  }

  read(request: ReadRequest): Soon<Contents | PassReason> {
    const { keyspace } = request
    if (this.elsewhere === 'anywhere' && !this.#mirrors.has(keyspace)) return 'not-ready'
    const outcome = this.#mirrors.read(keyspace, request)
    if (!(outcome instanceof Promise)) {
      this.#report(request, outcome.from, 0)
      const isNewest = outcome.from === 'mirror' && request.staleMs === undefined
      return isNewest ? outcome.snapshot : this.#contentsOf(outcome, request)
    }
    const startMs = this.#clock.monotonicMs()
    const settle = (from: 'mirror' | 'elsewhere' | 'failed'): void =>
      this.#report(request, from, this.#clock.monotonicMs() - startMs)
    return outcome.then(
      settled => {
        settle(settled.from)
        return this.#contentsOf(settled, request)
      },
      (error: unknown) => {
        settle('failed')
        throw error
      },
    )
  }

  proofOf(keyspace: Key): string | undefined {
    return this.#mirrors.proofOf?.(keyspace)
  }

  #report(
    { keyspace, freshness }: ReadRequest,
    from: 'mirror' | 'elsewhere' | 'failed',
    waitedMs: number,
  ): void {
    if (freshness.type === 'any') return
    const isConsistent = freshness.type === 'consistent'
    this.#reports?.waited(keyspace, { waitedMs, from, isConsistent })
  }

  #contentsOf(outcome: ReadOutcome, request: ReadRequest): Contents | PassReason {
    if (outcome.from === 'mirror') {
      const { staleMs } = request
      return staleMs === undefined ? outcome.snapshot : this.#stale(staleMs, request)
    }
    return this.elsewhere === 'anywhere' ? outcome.reason : this.#fromEtcd(request)
  }

  /** Older contents, for a read that is to get them on purpose: never older than what it has asked
   *  for. */
  #stale(staleMs: number, { keyspace, freshness }: ReadRequest): Snapshot {
    const { store } = this.#mirrors.keyspace(keyspace)
    const stale = store.before(this.#clock.monotonicMs() - staleMs)
    const isTooOld = freshness.type === 'not-older-than' && stale.revision < freshness.revision
    return isTooOld ? store.at(freshness.revision) : stale
  }

  #fromEtcd({ keyspace, freshness }: ReadRequest): DirectSource {
    const wanted = freshness.type === 'exact' ? freshness.revision : undefined
    return {
      pages: request => this.#mirrors.readDirectly(keyspace, { revision: wanted, ...request }),
    }
  }
}
