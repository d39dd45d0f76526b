/** A process that serves etcd's own API and nothing else (`--listen none`), with health, metrics
 *  and the page for people on the admin listener. */

import { sleep, version } from '@watchglass/base'
import { schemaOf } from '@watchglass/codec'
import { faultLogger, type Listen, Metrics, ServiceHealth, systemClock } from '@watchglass/cache'
import { heldSlabBytes } from '@watchglass/store'
import type { EtcdReplicaOptions } from '@watchglass/etcd-server'
import { adminHandlerOf, drainMaxMs, listenForAdmin } from './listeners.ts'
import { load } from './loaded-code.ts'

export interface EtcdServiceOptions extends Omit<EtcdReplicaOptions, 'clock' | 'metrics'> {
  /** Listener of health and metrics; none if it is left out. */
  readonly adminListen: Listen | undefined
  /** Time that it still serves after it was asked to stop. */
  readonly stopDelayMs: number
}

export interface EtcdService {
  stop(): Promise<void>
}

/** Starts it. Fails with `invalid_request` for what cannot be listened on. */
export async function startEtcdService(options: EtcdServiceOptions): Promise<EtcdService> {
  const { logger, adminListen, stopDelayMs } = options
  const metrics = new Metrics()
  metrics.watchProcess()
  metrics.showVersions(version)
  metrics.watchSlabs(heldSlabBytes)
  const { startEtcdReplica } = await load.etcdReplica()
  const replica = await startEtcdReplica({ ...options, clock: systemClock, metrics })
  const { mirrors, followers } = replica
  const health = new ServiceHealth(mirrors, { told: { clock: systemClock, logger } })
  followers.add(health)
  metrics.watchWaitingReads(() => mirrors.waitingReads)
  metrics.watchKeyspaces(() => mirrors.statuses())
  metrics.watchEtcd(() => mirrors.unansweredMs ?? 0)
  const onFault = faultLogger(metrics.access, logger)
  const handler = adminHandlerOf(
    {},
    {
      schema: schemaOf(),
      health,
      metrics,
      page: replica.page(health),
      upstreamProxy: undefined,
      onFault,
    },
  )
  const parts = { clock: systemClock, logger, onFault }
  const admin = await listenForAdmin(adminListen, handler, parts)?.catch(async (error: unknown) => {
    await replica.stop(0)
    throw error
  })
  if (admin !== undefined) logger.info('serving health and metrics', { port: admin.port })
  replica.start()
  void health.ready.then(() => {
    const statuses = mirrors.statuses()
    const keys = statuses.reduce((sum, { entries }) => sum + entries, 0)
    logger.info('ready', { keys, revision: Math.min(...statuses.map(({ revision }) => revision)) })
  })
  return {
    async stop() {
      health.stop()
      if (stopDelayMs > 0) await sleep(systemClock, stopDelayMs)
      await replica.stop(drainMaxMs)
      admin?.close()
    },
  }
}
