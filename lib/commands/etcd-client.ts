/** A client of etcd that uses renewed certificates for as long as it is open. */

import type { Clock } from '../base/clock.ts'
import { follow } from '../base/follow.ts'
import type { Logger } from '../base/logger.ts'
import { type EtcdConnection, etcdConnection } from '../config/etcd.ts'
import type { OptionValues } from '../config/option-values.ts'
import type { Client } from '../etcd/client.ts'
import { systemClock } from '../ops/system.ts'

export interface OpenClient {
  readonly client: Client
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
  const stopFollowing = follow({
    what: `certificates for etcd at ${connection.endpoints.join(', ')}`,
    current: connection.tls,
    read: () => etcdConnection(values).tls,
    onChange(tls) {
      if (tls !== undefined) client.renew(tls)
    },
    clock,
    logger,
  })
  return {
    client,
    close() {
      stopFollowing()
      return client.close()
    },
  }
}
