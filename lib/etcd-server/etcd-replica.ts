/** etcd's API in front of an etcd: the replica with its certificate and its connections. */

import { type CancelTimer, type Clock, keyFromText, type Logger } from '@watchglass/base'
import type { Client, EtcdConnection, Tls } from '@watchglass/etcd'
import type { AllowedTexts, EtcdListen } from './listen-settings.ts'
import type { AllowedPrefixes } from './access/rights.ts'
import { ReplicaPage } from './replica-page.ts'
import { openReplicaServer } from './replica-server.ts'
import { EtcdSessions } from './pass/etcd-sessions.ts'
import {
  faultLogger,
  Followers,
  followTls,
  type Health,
  type Metrics,
  type MirrorSet,
  OpenFiles,
  openFilesMax,
  type PageSource,
  readTls,
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
  const files = listen.tlsFiles
  const tls = files && (await readTls(files))
  const sessions = new EtcdSessions({ ...connection, clock })
  const replica = await openReplicaServer({
    listen: listen.address,
    tls,
    sessions,
    mirrored: view,
    rules: listen.rules && new Map([...listen.rules].map(([name, one]) => [name, asKeys(one)])),
    clock,
    random: systemRandom,
    metrics: metrics.etcdServer,
    openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
    onFault: faultLogger(
      metrics.access,
      logger,
      "internal error while answering a call of etcd's API",
    ),
  }).catch((error: unknown) => {
    sessions.close()
    throw error
  })
  const stopTls = followTls({
    files,
    what: 'certificates of --etcd-listen',
    current: tls,
    onChange: renewed => replica.renewTls(renewed),
    clock,
    logger,
  })
  const stopRenewals = options.onRenewed?.(renewed => sessions.renew(renewed))
  const page = new ReplicaPage({ clock, metrics, mirrors })
  logger.info("serving etcd's API", { etcd: replica.address })
  return {
    address: replica.address,
    mirrors,
    followers,
    page: health => page.source(health),
    start() {
      mirrors.start()
      page.start()
    },
    async stop(drainMaxMs) {
      page.stop()
      stopTls()
      stopRenewals?.()
      await replica.close(drainMaxMs)
      sessions.close()
      await mirrors.stop()
    },
  }
}

function asKeys({ read, write }: AllowedTexts): AllowedPrefixes {
  return { read: read.map(keyFromText), write: write.map(keyFromText) }
}
