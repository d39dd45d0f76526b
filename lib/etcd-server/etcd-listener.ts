/** The listener of `--etcd-listen`: its address, its certificates, which are read again when they
 *  change, and the files that it may open. */

import { type Clock, keyFromText, type Logger } from '@watchglass/base'
import {
  faultLogger,
  followTls,
  type Metrics,
  type OnFault,
  OpenFiles,
  openFilesMax,
  readTls,
} from '@watchglass/cache'
import type { AccessRules } from './access/access.ts'
import type { EtcdListen } from './listen-settings.ts'
import { type ServedCalls, serveCalls } from './serve-calls.ts'

export interface EtcdListenerOptions {
  readonly listen: EtcdListen
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface EtcdListener {
  /** With the port that it got. */
  readonly address: string
  /** Calls under way may finish, but not for longer than this. */
  close(drainMaxMs: number): Promise<void>
}

/** Opens it. Fails with `invalid_request` for an address or files that cannot be used. */
export async function openEtcdListener(
  { listen, clock, metrics, logger }: EtcdListenerOptions,
  calls: ServedCalls,
): Promise<EtcdListener> {
  const files = listen.tlsFiles
  const tls = files && (await readTls(files))
  const server = await serveCalls(
    {
      listen: listen.address,
      tls,
      clock,
      metrics: metrics.etcdServer,
      openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
      onFault: onFaultOf(metrics, logger),
    },
    calls,
  )
  const stopTls = followTls({
    files,
    what: 'certificates of --etcd-listen',
    current: tls,
    onChange: renewed => server.renewTls(renewed),
    clock,
    logger,
  })
  logger.info("serving etcd's API", { etcd: server.address })
  return {
    address: server.address,
    async close(drainMaxMs) {
      stopTls()
      await server.close(drainMaxMs)
    },
  }
}

/** Logs mistakes of ours. */
export function onFaultOf(metrics: Metrics, logger: Logger): OnFault {
  const what = "internal error while answering a call of etcd's API"
  return faultLogger(metrics.access, logger, what)
}

/** The rights of names of certificates; undefined where everybody may do everything. */
export function rulesOf({ rules }: EtcdListen): AccessRules | undefined {
  return (
    rules &&
    new Map(
      [...rules].map(([name, { read, write }]) => [
        name,
        { read: read.map(keyFromText), write: write.map(keyFromText) },
      ]),
    )
  )
}
