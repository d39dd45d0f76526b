/** Answers the reads of the API from the mirror. Where the mirror cannot answer, the request passes to the upstream; without an upstream,
 *  etcd itself is read, a few reads at a time and each only of the range that it needs. */

import type { ReadOptions, ReadOutcome } from '../mirror/reads/read.ts'
import type { Clock } from '../base/clock.ts'
import type { Freshness } from '../base/freshness.ts'
import type { Key } from '../base/keys.ts'
import type { Contents, DirectSource, ReadRequest, Reads } from '../kube/reads.ts'
import { type Soon, soon } from '../base/soon.ts'
import type { PassReason } from '../kube/decide.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Snapshot } from '../store/snapshot.ts'

export class MirrorReads implements Reads {
  readonly #mirrors: Mirrors
  readonly #clock: Clock
  readonly #hasUpstream: boolean

  constructor(mirrors: Mirrors, clock: Clock, hasUpstream = false) {
    this.#mirrors = mirrors
    this.#clock = clock
    this.#hasUpstream = hasUpstream
  }

  read(request: ReadRequest): Soon<Contents | PassReason> {
    const { keyspace, freshness } = request
    if (this.#hasUpstream && !this.#mirrors.has(keyspace)) return 'not-ready'
    const canGoElsewhere = this.#hasUpstream || this.#canGoElsewhere(keyspace, freshness)
    const outcome = this.#mirrors.read(keyspace, new MirrorRead(request, canGoElsewhere))
    return soon(outcome, settled => this.#contentsOf(settled, request))
  }

  #contentsOf(outcome: ReadOutcome, request: ReadRequest): Contents | PassReason {
    if (outcome.from === 'mirror') return this.#staleOr(outcome.snapshot, request)
    if (this.#hasUpstream) return outcome.reason
    return this.#fromEtcd(request)
  }

  /** Older contents, for a read that is to get them on purpose: never older than what it has asked for. */
  #staleOr(snapshot: Snapshot, { keyspace, freshness, staleMs }: ReadRequest): Snapshot {
    if (staleMs === undefined) return snapshot
    const { store } = this.#mirrors.keyspace(keyspace)
    const stale = store.before(this.#clock.monotonicMs() - staleMs)
    const isTooOld = freshness.type === 'not-older-than' && stale.revision < freshness.revision
    return isTooOld ? store.at(freshness.revision) : stale
  }

  /** A keyspace that is still being read for the first time is waited for: reading the same from etcd again would only slow that
   *  down. */
  #canGoElsewhere(keyspace: Key, freshness: Freshness): boolean {
    switch (freshness.type) {
      case 'exact':
        return true
      case 'consistent':
        return this.#mirrors.keyspace(keyspace).isServed
      case 'any':
      case 'not-older-than':
        return false
    }
  }

  #fromEtcd({ keyspace, freshness }: ReadRequest): DirectSource {
    const wanted = freshness.type === 'exact' ? freshness.revision : undefined
    return {
      pages: request => this.#mirrors.readDirectly(keyspace, { revision: wanted, ...request }),
    }
  }
}

/** Asks for the request's signal only when the mirror asks for it. */
class MirrorRead implements ReadOptions {
  readonly freshness: Freshness
  readonly canGoElsewhere: boolean
  readonly #request: ReadRequest

  constructor(request: ReadRequest, canGoElsewhere: boolean) {
    this.freshness = request.freshness
    this.canGoElsewhere = canGoElsewhere
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }
}
