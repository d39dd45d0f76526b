/** etcd's API in front of an etcd: the door with its certificate and its connections. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { keyFromText } from '../base/keys.ts'
import type { Logger } from '../base/logger.ts'
import type { EtcdConnection } from '../etcd/connection-settings.ts'
import type { AllowedTexts, EtcdListen } from './listen-settings.ts'
import type { Client } from '../etcd/client.ts'
import type { AllowedPrefixes } from './access/rights.ts'
import { DoorPage } from './door-page.ts'
import { openDoor } from './door.ts'
import type { Tls } from '../etcd/grpc/endpoints.ts'
import { EtcdSessions } from './pass/etcd-sessions.ts'
import type { Health } from '../http/documents/health.ts'
import type { PageSource } from '../http/page/page-source.ts'
import type { MirrorSet } from '../mirror/mirror-set.ts'
import type { Metrics } from '../ops/metrics.ts'
import { faultLogger } from '../ops/fault-logger.ts'
import { systemRandom } from '../ops/system.ts'
import type { HistoryBounds } from '../store/history.ts'
import { Followers } from '../upkeep/followers.ts'
import { SlabKeeper } from '../upkeep/slab-keeper.ts'
import { snapshotsIn } from '../mirror/contents.ts'
import { createEtcdMirror } from './view/etcd-mirror.ts'
import { followTls, readTls } from '../http/server/tls.ts'

export interface EtcdDoorOptions {
  readonly listen: EtcdListen
  readonly connection: EtcdConnection
  /** Calls `renew` with renewed certificates of the connection until it is cancelled. */
  readonly onRenewed?: ((renew: (tls: Tls) => void) => CancelTimer) | undefined
  /** For the mirror, to the same etcd. Closed by the caller, after the door has stopped. */
  readonly client: Client
  readonly history?: HistoryBounds | undefined
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface EtcdDoor {
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

/** Opens the door. Fails with `invalid_request` for an address or files that cannot be used. */
export async function startEtcdDoor(options: EtcdDoorOptions): Promise<EtcdDoor> {
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
  const door = await openDoor({
    listen: listen.address,
    tls,
    sessions,
    mirrored: view,
    rules: listen.rules && new Map([...listen.rules].map(([name, one]) => [name, asKeys(one)])),
    clock,
    random: systemRandom,
    metrics: metrics.etcdDoor,
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
    onChange: renewed => door.renewTls(renewed),
    clock,
    logger,
  })
  const stopRenewals = options.onRenewed?.(renewed => sessions.renew(renewed))
  const page = new DoorPage({ clock, metrics, mirrors })
  logger.info("serving etcd's API", { etcd: door.address })
  return {
    address: door.address,
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
      await door.close(drainMaxMs)
      sessions.close()
      await mirrors.stop()
    },
  }
}

function asKeys({ read, write }: AllowedTexts): AllowedPrefixes {
  return { read: read.map(keyFromText), write: write.map(keyFromText) }
}
