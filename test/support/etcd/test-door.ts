/** A door in front of an etcd, in this process, with what it has counted. */

import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { type EtcdDoor, startEtcdDoor } from '../../../lib/compose/etcd-door.ts'
import type { Logger } from '../../../lib/base/logger.ts'
import { Metrics } from '../../../lib/ops/metrics.ts'
import { systemClock } from '../../../lib/ops/system.ts'
import { silentLogger } from '../silent-logger.ts'
import type { Teardown } from './etcd-cluster.ts'

export interface TestDoor {
  readonly address: string
  readonly door: EtcdDoor
  /** Calls that have ended. */
  count(method: string, source: 'mirror' | 'etcd' | 'none'): number
  /** Resolves when everything is mirrored. */
  ready(): Promise<void>
}

/** Starts it; it stops at the end of `scope`. Every key is mirrored, or those with these prefixes. */
export async function startTestDoor(
  scope: Teardown,
  endpoints: readonly string[],
  options: { readonly prefixes?: readonly string[]; readonly logger?: Logger } = {},
): Promise<TestDoor> {
  const { prefixes = [''], logger = silentLogger } = options
  const connection = { endpoints }
  const client = new GrpcClient(connection)
  const metrics = new Metrics()
  const door = await startEtcdDoor({
    listen: { address: '127.0.0.1:0', tlsFiles: undefined, prefixes },
    connection,
    client,
    clock: systemClock,
    metrics,
    logger,
  })
  door.start()
  scope.teardown(async () => {
    await door.stop(0)
    await client.close()
  })
  const isReady = (): boolean => door.mirrors.statuses().every(({ state }) => state === 'ready')
  return {
    address: door.address,
    door,
    count(method, source) {
      const labels = `{method="${method}",source="${source}",`
      const lines = metrics.etcdFace.text().split('\n')
      const values = lines.filter(line => line.includes(labels)).map(line => line.split(' ').at(-1))
      return values.reduce((sum, value) => sum + Number(value), 0)
    },
    async ready() {
      while (!isReady()) await new Promise(resolve => setTimeout(resolve, 5))
    },
  }
}
