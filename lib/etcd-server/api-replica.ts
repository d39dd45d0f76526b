/** etcd's API of a mirrored Kubernetes API, which is read only: the calls, and their listener. It
 *  stands on the mirrors of the service. */

import type { Clock, Logger } from '@watchglass/base'
import { type Followers, type Metrics, type OwnMirrors, systemRandom } from '@watchglass/cache'
import { onFaultOf, openEtcdListener, rulesOf } from './etcd-listener.ts'
import type { EtcdListen } from './listen-settings.ts'
import { ResourceCalls } from './resource-calls.ts'
import { ApiResources, type ServedKeyspace } from './resources/api-resources.ts'

export interface ApiReplicaOptions {
  readonly listen: EtcdListen
  /** Started and stopped by the caller. */
  readonly mirrors: OwnMirrors
  /** Told of every change of the mirrors. */
  readonly followers: Followers
  /** The keyspaces that the API may have. */
  readonly keyspaces: () => readonly ServedKeyspace[]
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface ApiReplica {
  /** With the port that it got. */
  readonly address: string
  /** Calls under way may finish, but not for longer than this. */
  stop(drainMaxMs: number): Promise<void>
}

/** Opens it. Fails with `invalid_request` for an address or files that cannot be used. */
export async function startApiReplica(options: ApiReplicaOptions): Promise<ApiReplica> {
  const { listen, mirrors, followers, keyspaces, clock, metrics, logger } = options
  const resources = new ApiResources({ mirrors, keyspaces })
  followers.add(resources)
  const calls = new ResourceCalls({
    resources,
    rules: rulesOf(listen),
    clock,
    random: systemRandom,
    metrics: metrics.etcdServer,
    onFault: onFaultOf(metrics, logger),
  })
  const listener = await openEtcdListener(options, calls)
  return { address: listener.address, stop: drainMaxMs => listener.close(drainMaxMs) }
}
