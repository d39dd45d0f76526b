/** The parts of a service by name. What each needs, and how it comes and goes, is in
 *  `kube-service-table.ts`. */

import type { Clock, Key } from '@watchglass/base'
import type {
  Authorizer,
  Followers,
  AccessGate,
  Droppable,
  Handler,
  IndexKeeper,
  KeyspaceSizes,
  LiveRegistry,
  MemoryKeeper,
  Metrics,
  MetricsText,
  Mirrors,
  OnFault,
  OpenWatches,
  OwnMirrors,
  PageSource,
  Recent,
  SegmentKeeper,
  Server,
  ServiceHealth,
  SlabKeeper,
  SlowRequests,
  WarmUp,
  WatchHubs,
} from '@watchglass/cache'
import type { Segment } from '@watchglass/codec'
import type { UpstreamProxy } from '@watchglass/proxy'
import type { WriteSide } from '@watchglass/simulator'
import type { Keyspace, SegmentCache } from '@watchglass/store'
import type { ClientListener, Workers } from '@watchglass/workers'
import type { LateCall } from './composition.ts'
import type { LateViews } from './late-views.ts'
import type { ServiceFaults } from './faults.ts'
import type { EtcdApi } from './listeners.ts'
import type { ClientPort, ServedOptions } from './service-options.ts'
import type { LoadedCode } from './loaded-code.ts'

export interface KubeServiceParts {
  readonly clock: Clock
  /** The code of the attached packages that are asked for. */
  readonly code: LoadedCode
  readonly metrics: Metrics
  readonly onFault: OnFault
  /** Undefined where workers have the port. */
  readonly clientPort: ClientPort | undefined
  /** Keeps the certificate of the port that of its file. */
  readonly renewals: () => void
  /** HOST:PORT that clients are told. */
  readonly address: string
  /** Keyspaces that were dropped for the memory budget. */
  readonly dropped: Set<Key>
  readonly served: ServedOptions
  readonly registry: LiveRegistry
  readonly followers: Followers
  /** Called when the mirrors have learnt something that workers have to know. */
  readonly factsChanged: LateCall<[], void>
  /** Undefined in a worker, which has copies. */
  readonly ownMirrors: OwnMirrors | undefined
  readonly mirrors: Mirrors
  readonly workers: Workers | undefined
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly segments: SegmentCache<Segment>
  readonly sizes: KeyspaceSizes
  readonly segmentKeeper: SegmentKeeper
  /** Whether so many bytes more fit into the memory budget. */
  readonly fits: LateCall<[bytes: number], boolean>
  /** Whether somebody watches a keyspace. */
  readonly isWatched: LateCall<[keyspace: Key], boolean>
  readonly indexes: IndexKeeper
  readonly views: LateViews
  /** Indexes, and the orders and counts of views: one share of the memory budget. */
  readonly keptIndexes: Droppable
  readonly hubs: WatchHubs
  readonly watches: OpenWatches
  /** Asks an API server who may do what. */
  readonly authorizer: Authorizer | undefined
  readonly upstreamProxy: UpstreamProxy | undefined
  readonly memory: MemoryKeeper | undefined
  readonly faults: ServiceFaults | undefined
  readonly writeSide: WriteSide | undefined
  /** Decides who may do what: the authorizer, or an attached package; undefined: everybody may do
   *  everything. */
  readonly gate: AccessGate | undefined
  readonly health: ServiceHealth
  readonly slabs: SlabKeeper | undefined
  readonly warmUp: WarmUp | undefined
  readonly following: void
  readonly slow: SlowRequests
  readonly recent: Recent
  /** The metrics of the whole process, in whichever thread they are asked for. */
  readonly allMetrics: MetricsText
  readonly page: PageSource
  readonly shown: void
  readonly handler: Handler
  /** Answers our own paths for operators. */
  readonly adminHandler: Handler
  readonly admin: Server | undefined
  readonly etcdApi: EtcdApi | undefined
  readonly controllers: void
  /** The listener that accepts connections of clients, or the workers that do. */
  readonly clientListener: ClientListener
}
