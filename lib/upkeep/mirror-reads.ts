/** Answers the reads of the API from the mirror. Where the mirror cannot answer, the request passes
 *  to the upstream; without an upstream, etcd itself is read, a few reads at a time and each only
 *  of the range that it needs. */

import type { ReadOutcome } from '../mirror/reads/read.ts'
import type { Clock } from '../base/clock.ts'
import type { Elsewhere } from '../base/freshness.ts'
import type { Contents, DirectSource, ReadRequest, Reads } from '../kube/reads.ts'
import type { Soon } from '../base/soon.ts'
import type { PassReason } from '../kube/decide.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Snapshot } from '../store/snapshot.ts'

export class MirrorReads implements Reads {
  readonly #mirrors: Mirrors
  readonly #clock: Clock
  readonly elsewhere: Elsewhere

  constructor(mirrors: Mirrors, clock: Clock, hasUpstream = false) {
    this.#mirrors = mirrors
    this.#clock = clock
    this.elsewhere = hasUpstream ? 'anywhere' : 'etcd'
  }

  read(request: ReadRequest): Soon<Contents | PassReason> {
    const { keyspace } = request
    if (this.elsewhere === 'anywhere' && !this.#mirrors.has(keyspace)) return 'not-ready'
    const outcome = this.#mirrors.read(keyspace, request)
    return outcome instanceof Promise
      ? outcome.then(settled => this.#contentsOf(settled, request))
      : this.#contentsOf(outcome, request)
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
