/** A door in front of an etcd, in this process, with what it has counted. */

import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { type EtcdDoor, startEtcdDoor } from '../../../lib/etcd-server/etcd-door.ts'
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

export interface TestDoor {
  readonly address: string
  readonly door: EtcdDoor
  /** Calls that have ended. */
  count(method: string, source: 'mirror' | 'etcd' | 'none'): number
  /** Watchers that are open. */
  readonly watchers: number
  /** Resolves when everything is mirrored. */
  ready(): Promise<void>
}

export interface TestDoorOptions {
  readonly prefixes?: readonly string[] | undefined
  readonly logger?: Logger | undefined
  readonly listen?: Partial<EtcdListen> | undefined
  readonly history?: HistoryBounds | undefined
  /** For the connections to etcd. */
  readonly etcdTls?: EtcdTls | undefined
}

/** Starts it; it stops at the end of `scope`. Every key is mirrored, or those with these
 *  prefixes. */
export async function startTestDoor(
  scope: Teardown,
  endpoints: readonly string[],
  options: TestDoorOptions = {},
): Promise<TestDoor> {
  const { prefixes = [''], logger = silentLogger, history, listen, etcdTls } = options
  const connection = { endpoints, tls: etcdTls }
  const client = new GrpcClient(connection)
  const metrics = new Metrics()
  const door = await startEtcdDoor({
    listen: { address: '127.0.0.1:0', tlsFiles: undefined, prefixes, ...listen },
    connection,
    client,
    history,
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
  readonly door: TestDoor
  /** etcd itself, and the same etcd through the door. */
  readonly direct: RawEtcd
  readonly through: RawEtcd
}

/** An etcd with a door that is ready. */
export async function startSides(
  t: Teardown,
  etcd: Program,
  options: TestDoorOptions & EtcdOptions = {},
): Promise<Sides> {
  return openSides(t, await startEtcd(t, etcd, options), options)
}

/** The same with an etcd that is there. */
export async function openSides(
  t: Teardown,
  cluster: EtcdCluster,
  options: TestDoorOptions = {},
): Promise<Sides> {
  const door = await startTestDoor(t, cluster.endpoints, options)
  await door.ready()
  const direct = new RawEtcd(String(cluster.endpoints[0]).replace('http://', ''))
  const through = new RawEtcd(door.address)
  t.teardown(async () => {
    direct.close()
    through.close()
  })
  return { cluster, door, direct, through }
}
