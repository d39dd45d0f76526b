/** etcd's API in front of an etcd: the replica with its certificate and its connections. */

import type { CancelTimer, Clock, Logger } from '@watchglass/base'
import type { Client, EtcdConnection, Tls } from '@watchglass/etcd'
import { CallRouter } from './call-router.ts'
import { onFaultOf, openEtcdListener, rulesOf } from './etcd-listener.ts'
import type { EtcdListen } from './listen-settings.ts'
import { ReplicaPage } from './replica-page.ts'
import { EtcdSessions } from './pass/etcd-sessions.ts'
import {
  type Checkpoint,
  Followers,
  type Health,
  type Metrics,
  type MirrorSet,
  type PageSource,
  SlabKeeper,
  snapshotsIn,
  systemRandom,
} from '@watchglass/cache'
import type { HistoryBounds } from '@watchglass/store'
import { createEtcdMirror } from './view/etcd-mirror.ts'

export interface EtcdReplicaOptions {
  readonly listen: EtcdListen
  readonly connection: EtcdConnection
  /** Calls `renew` with renewed certificates of the connection until it is cancelled. */
  readonly onRenewed?: ((renew: (tls: Tls) => void) => CancelTimer) | undefined
  /** For the mirror, to the same etcd. Closed by the caller, after the replica has stopped. */
  readonly client: Client
  /** Contents that etcd had before, from which the mirror starts. */
  readonly checkpoint?: Checkpoint | undefined
  readonly history?: HistoryBounds | undefined
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface EtcdReplica {
  /** With the port that it got. */
  readonly address: string
  readonly mirrors: MirrorSet
  /** Told of every change of the mirrors. */
  readonly followers: Followers
  /** The data of a page for people, for a process that serves nothing else. */
  page(health: Health): PageSource
  /** Begins to mirror. Until that has come to an end everything passes. */
  start(): void
  /** Calls under way may finish, but not for longer than this. */
  stop(drainMaxMs: number): Promise<void>
}

/** Opens the replica. Fails with `invalid_request` for an address or files that cannot be used. */
export async function startEtcdReplica(options: EtcdReplicaOptions): Promise<EtcdReplica> {
  const { listen, connection, clock, metrics, logger } = options
  const followers = new Followers()
  const { view, mirrors } = createEtcdMirror({
    ...options,
    prefixes: listen.prefixes,
    random: systemRandom,
    metrics: metrics.mirror,
    sink: followers,
  })
  followers.add(new SlabKeeper({ latest: () => snapshotsIn(mirrors), clock, logger }), view)
  const sessions = new EtcdSessions({ ...connection, clock })
  const calls = new CallRouter({
    sessions,
    mirrored: view,
    rules: rulesOf(listen),
    clock,
    random: systemRandom,
    metrics: metrics.etcdServer,
    onFault: onFaultOf(metrics, logger),
  })
  const listener = await openEtcdListener(options, calls).catch((error: unknown) => {
    sessions.close()
    throw error
  })
  const stopRenewals = options.onRenewed?.(renewed => sessions.renew(renewed))
  const page = new ReplicaPage({ clock, metrics, mirrors })
  return {
    address: listener.address,
    mirrors,
    followers,
    page: health => page.source(health),
    start() {
      mirrors.start()
      page.start()
    },
    async stop(drainMaxMs) {
      page.stop()
      stopRenewals?.()
      await listener.close(drainMaxMs)
      sessions.close()
      await mirrors.stop()
    },
  }
}
