/** Tells everybody who follows the mirror what has changed. */

import type { Key } from '../base/keys.ts'
import type { Authorizer } from '../http/auth/authorizer.ts'
import type { MirrorSink } from '../mirror/mirrored-keyspace.ts'
import type { IndexKeeper } from '../upkeep/index-keeper.ts'
import type { LiveRegistry } from './live-registry.ts'
import type { MemoryKeeper } from './memory-keeper.ts'
import type { MirrorWatches } from './mirror-watches.ts'
import type { SlabKeeper } from '../upkeep/slab-keeper.ts'
import type { UpstreamSide } from './upstream-side.ts'
import type { ViewKeeper } from '../upkeep/view-keeper.ts'

/** Who follows. */
export interface Followers {
  readonly upstreamSide: UpstreamSide | undefined
  readonly memory: MemoryKeeper | undefined
  readonly authorizer: Authorizer | undefined
  /** Holds rules of who may do what. */
  readonly isRuleKeyspace: (keyspace: string) => boolean
  readonly registry: LiveRegistry
  readonly indexes: IndexKeeper
  readonly slabs: SlabKeeper
  readonly views: ViewKeeper
  readonly watchSource: MirrorWatches
  /** A keyspace has another state. */
  readonly onState: () => void
}

/** What the mirror is given. */
export function sinkOf(followers: Followers): MirrorSink {
  const { registry, indexes, slabs, watchSource, authorizer, isRuleKeyspace, onState } = followers
  const { upstreamSide, memory, views } = followers
  return {
    applied(keyspace, batch) {
      if (isRuleKeyspace(keyspace)) authorizer?.rulesChanged()
      registry.changed(keyspace)
      watchSource.applied(keyspace, batch)
      slabs.applied(batch)
      views.applied(keyspace)
      memory?.applied(keyspace as Key, batch)
      upstreamSide?.knowledge.changed(keyspace as Key)
    },
    progressed: () => {},
    reset: keyspace => {
      if (isRuleKeyspace(keyspace)) authorizer?.rulesChanged()
      registry.changed(keyspace)
      watchSource.reset(keyspace)
      indexes.restored(keyspace as Key)
      views.restored(keyspace as Key)
      memory?.replaced(keyspace as Key)
    },
    stateChanged: keyspace => {
      if (isRuleKeyspace(keyspace)) authorizer?.rulesChanged()
      memory?.replaced(keyspace as Key)
      registry.changed(keyspace)
      upstreamSide?.knowledge.served()
      onState()
    },
  }
}
