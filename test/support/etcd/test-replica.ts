/** A replica in front of an etcd, in this process, with what it has counted. */

import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { type EtcdReplica, startEtcdReplica } from '../../../lib/etcd-server/etcd-replica.ts'
import type { EtcdTls } from '../../../lib/etcd/connection-settings.ts'
import type { EtcdListen } from '../../../lib/etcd-server/listen-settings.ts'
import type { Logger } from '../../../lib/base/logger.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'
import { Metrics } from '../../../lib/cache/ops/metrics.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { silentLogger } from '../silent-logger.ts'
import { type EtcdCluster, type EtcdOptions, startEtcd, type Teardown } from './etcd-cluster.ts'
import { RawEtcd } from './raw-etcd.ts'
import type { Program } from './real-etcd.ts'

export interface TestReplica {
  readonly address: string
  readonly replica: EtcdReplica
  /** Calls that have ended. */
  count(method: string, source: 'mirror' | 'etcd' | 'none'): number
  /** Watchers that are open. */
  readonly watchers: number
  /** Resolves when everything is mirrored. */
  ready(): Promise<void>
}

export interface TestReplicaOptions {
  readonly prefixes?: readonly string[] | undefined
  readonly logger?: Logger | undefined
  readonly listen?: Partial<EtcdListen> | undefined
  readonly history?: HistoryBounds | undefined
  /** For the connections to etcd. */
  readonly etcdTls?: EtcdTls | undefined
}

/** Starts it; it stops at the end of `scope`. Every key is mirrored, or those with these
 *  prefixes. */
export async function startTestReplica(
  scope: Teardown,
  endpoints: readonly string[],
  options: TestReplicaOptions = {},
): Promise<TestReplica> {
  const { prefixes = [''], logger = silentLogger, history, listen, etcdTls } = options
  const connection = { endpoints, tls: etcdTls }
  const client = new GrpcClient(connection)
  const metrics = new Metrics()
  const replica = await startEtcdReplica({
    listen: { address: '127.0.0.1:0', tlsFiles: undefined, prefixes, ...listen },
    connection,
    client,
    history,
    clock: systemClock,
    metrics,
    logger,
  })
  replica.start()
  scope.teardown(async () => {
    await replica.stop(0)
    await client.close()
  })
  const isReady = (): boolean => replica.mirrors.statuses().every(({ state }) => state === 'ready')
  return {
    address: replica.address,
    replica,
    count(method, source) {
      const labels = `{method="${method}",source="${source}",`
      const lines = metrics.etcdServer.text().split('\n')
      const values = lines.filter(line => line.includes(labels)).map(line => line.split(' ').at(-1))
      return values.reduce((sum, value) => sum + Number(value), 0)
    },
    get watchers() {
      return Number(/^watchglass_etcd_watchers (\d+)$/m.exec(metrics.etcdServer.text())?.[1])
    },
    async ready() {
      while (!isReady()) await new Promise(resolve => setTimeout(resolve, 5))
    },
  }
}

export interface Sides {
  readonly cluster: EtcdCluster
  readonly replica: TestReplica
  /** etcd itself, and the same etcd through the replica. */
  readonly direct: RawEtcd
  readonly through: RawEtcd
}

/** An etcd with a replica that is ready. */
export async function startSides(
  t: Teardown,
  etcd: Program,
  options: TestReplicaOptions & EtcdOptions = {},
): Promise<Sides> {
  return openSides(t, await startEtcd(t, etcd, options), options)
}

/** The same with an etcd that is there. */
export async function openSides(
  t: Teardown,
  cluster: EtcdCluster,
  options: TestReplicaOptions = {},
): Promise<Sides> {
  const replica = await startTestReplica(t, cluster.endpoints, options)
  await replica.ready()
  const direct = new RawEtcd(String(cluster.endpoints[0]).replace('http://', ''))
  const through = new RawEtcd(replica.address)
  t.teardown(async () => {
    direct.close()
    through.close()
  })
  return { cluster, replica, direct, through }
}
