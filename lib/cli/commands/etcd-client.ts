/** A client of etcd that uses renewed certificates for as long as it is open. */

import { type CancelTimer, type Clock, follow, type Logger } from '@watchglass/base'
import { expiryProblem } from '@watchglass/go'
import { etcdConnection } from './plan/etcd-connection.ts'
import type { Client, EtcdConnection, Tls } from '@watchglass/etcd'
import type { OptionValues } from '../options/option-values.ts'
import { systemClock } from '@watchglass/cache'

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
  const { GrpcClient } = await import('@watchglass/etcd/grpc/client')
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
