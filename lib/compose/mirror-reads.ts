/** Reads of the API: from the mirror, and without an upstream, where the mirror cannot answer what etcd can, from etcd itself; few at
 *  a time, and each of the range that it needs. */

import type { Key } from '../base/keys.ts'
import type { DirectSource, ReadRequest, Reads } from '../http/api.ts'
import type { Freshness } from '../kube/list-options.ts'
import type { ReadOptions } from '../mirror/freshness.ts'
import type { MirrorSet } from '../mirror/mirror-set.ts'
import type { Snapshot } from '../store/snapshot.ts'

export class MirrorReads implements Reads {
  readonly #mirrors: MirrorSet

  constructor(mirrors: MirrorSet) {
    this.#mirrors = mirrors
  }

  async read(request: ReadRequest): Promise<Snapshot | DirectSource> {
    const { keyspace, freshness } = request
    const canGoElsewhere = this.#canGoElsewhere(keyspace, freshness)
    const outcome = await this.#mirrors.read(keyspace, new MirrorRead(request, canGoElsewhere))
    return outcome.from === 'mirror' ? outcome.snapshot : this.#fromEtcd(request)
  }

  /** A keyspace that is being read for the first time is waited for: asking etcd for the same once more would only make that
   *  slower. */
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
    const { directReads } = this.#mirrors.of(keyspace)
    const wanted = freshness.type === 'exact' ? freshness.revision : undefined
    return { pages: request => directReads.read({ revision: wanted, ...request }) }
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
