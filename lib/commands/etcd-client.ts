/** A client of etcd that uses renewed certificates for as long as it is open. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { expiryProblem } from '../base/expiry.ts'
import { follow } from '../base/follow.ts'
import type { Logger } from '../base/logger.ts'
import { etcdConnection } from './plan/etcd-connection.ts'
import type { EtcdConnection } from '../etcd/connection-settings.ts'
import type { OptionValues } from '../config/option-values.ts'
import type { Client } from '../etcd/client.ts'
import type { Tls } from '../etcd/grpc/endpoints.ts'
import { systemClock } from '../ops/system.ts'

export interface OpenClient {
  readonly client: Client
  /** Calls `renew` with renewed certificates until it is cancelled: for other connections to the
   *  same etcd. */
  readonly onRenewed: (renew: (tls: Tls) => void) => CancelTimer
  close(): Promise<void>
}

export interface EtcdClientParts {
  /** Name the files: all etcds have the same credentials. */
  readonly values: OptionValues
  readonly logger: Logger
  readonly clock?: Clock | undefined
}

/** Loads gRPC, which a process with an etcd of its own does not need. */
export async function openEtcdClient(
  connection: EtcdConnection,
  { values, logger, clock = systemClock }: EtcdClientParts,
): Promise<OpenClient> {
  const { GrpcClient } = await import('../etcd/grpc/client.ts')
  const client = new GrpcClient(connection)
  const renewals = new Set([(tls: Tls): void => client.renew(tls)])
  const stopFollowing = follow({
    what: `certificates for etcd at ${connection.endpoints.join(', ')}`,
    current: connection.tls,
    read: () => etcdConnection(values).tls,
    problemOf: tls => expiryProblem('--etcd-cert', tls?.cert, clock.wallMs()),
    onChange(tls) {
      if (tls === undefined) return
      for (const renew of renewals) renew(tls)
    },
    clock,
    logger,
  })
  return {
    client,
    onRenewed(renew) {
      renewals.add(renew)
      return () => renewals.delete(renew)
    },
    close() {
      stopFollowing()
      return client.close()
    },
  }
}
