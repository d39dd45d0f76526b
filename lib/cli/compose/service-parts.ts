/** Parts of a service that are made from its options. */

import { type Clock, type Key, type Revision, version } from '@watchglass/base'
import { schemaOf, type Segment } from '@watchglass/codec'
import {
  ApiServerCounts,
  type Authorizer,
  CertificateDates,
  compactNow,
  defaultHistory,
  digests,
  type StoredResource,
  type Health,
  type KeyspaceFacts,
  type KeyspaceSizes,
  LiveRegistry,
  type MemoryFigures,
  MemoryKeeper,
  type MemoryKeeperOptions,
  Metrics,
  type Mirrors,
  type OpenWatches,
  type OwnMirrors,
  systemClock,
  systemRandom,
} from '@watchglass/cache'
import { measuredResources, mirroredKeyspaces, specialKeyspaces } from '@watchglass/kube'
import { heldSlabBytes, type SegmentCache } from '@watchglass/store'
import type { Client } from '@watchglass/etcd'
import type { FaultType, WriteSide } from '@watchglass/simulator'
import { ServiceFaults } from './faults.ts'
import type { KubeServiceParts } from './kube-service-parts.ts'
import type { MirroredEtcds, ServedOptions, ServiceOptions } from './service-options.ts'
import { load, type LoadedCode } from './loaded-code.ts'
import type { RulesOfProcess, Workers } from '@watchglass/workers'
import type { UpstreamProxy, UpstreamParts } from '@watchglass/proxy'
import type { ApiMirrorsOptions } from '@watchglass/source'

/** With an upstream, what is excluded is known all the same: it passes. */
export function createRegistry(
  { etcd: { prefix }, attached: { upstream, writes } = {}, logger }: ServiceOptions,
  served: ServedOptions,
  { address: serverAddress, dropped }: Pick<KubeServiceParts, 'address' | 'dropped'>,
): LiveRegistry {
  const { schema = schemaOf(), configured = [], excluded = [], hasCbor, namespaces } = served
  const isMirrored = mirroredKeyspaces({ ...served, prefix })
  const measured = writes?.simulation?.controllers.has('nodes') === true ? measuredResources : []
  return new LiveRegistry({
    schema,
    prefix,
    configured: upstream === undefined ? [...configured, ...measured] : [],
    excluded: upstream === undefined ? excluded : [],
    isMirrored: (keyspace, prefix) => isMirrored(prefix) && !dropped.has(keyspace),
    namespaces,
    history: defaultHistory,
    serverAddress,
    digests,
    hasCbor,
    logger,
  })
}

/** The metrics, also under the names of kube-apiserver where these are asked for. */
export function createMetrics({
  hasApiServerMetrics,
  cluster,
  attached: { upstream } = {},
  clock = systemClock,
}: ServiceOptions): Metrics {
  const isAsked = hasApiServerMetrics ?? upstream === undefined
  const apiServer = isAsked ? new ApiServerCounts(() => clock.monotonicMs()) : undefined
  return new Metrics(apiServer, cluster?.name)
}

/** The resource of each keyspace, as kube-apiserver names what it stores: of several versions or
 *  groups that share a keyspace, the stored one. */
function resourcesByKeyspace(
  registry: LiveRegistry,
): (keyspace: string) => StoredResource | undefined {
  let of: unknown = undefined
  let names = new Map<string, StoredResource>()
  return keyspace => {
    const { state } = registry
    if (of !== state) {
      of = state
      names = new Map(
        state.registry.keyspaces().flatMap(({ prefix, resources }) => {
          const [first] = resources
          const stored = resources.find(one => one.group === one.storage?.group) ?? first
          return stored === undefined ? [] : [[prefix, stored]]
        }),
      )
    }
    return names.get(keyspace)
  }
}

/** The faults on purpose; undefined where there are to be none. */
export function createFaults(
  { attached: { faults, copies } = {}, etcd: { client }, logger }: ServiceOptions,
  { code, clock, metrics, workers }: FaultParts,
): ServiceFaults | undefined {
  if (faults === undefined) return undefined
  const isOwn = copies === undefined && client !== undefined
  const compact = isOwn ? (): Promise<Revision> => compactNow(client) : undefined
  const passOn = workers && ((given: RulesOfProcess): Promise<void> => workers.passFaults(given))
  const onMet = (type: FaultType): void => metrics.faults.met(type)
  const options = { ...faults, compact, passOn, onMet, clock, logger }
  return new ServiceFaults({
    control: code.FaultControl && new code.FaultControl(options),
    load: async () => new (await load.faults()).FaultControl(options),
  })
}

interface FaultParts {
  readonly code: LoadedCode
  readonly clock: Clock
  readonly metrics: Metrics
  readonly workers: Workers | undefined
}

/** The keeper of the memory budget; undefined if there is no budget. Keyspaces that declare
 *  resources or rules are never dropped. */
export function createMemoryKeeper(
  { memory: { budgetBytes } = {}, attached = {}, etcd: { prefix }, logger }: ServiceOptions,
  parts: Omit<MemoryKeeperOptions, 'budgetBytes' | 'canDrop' | 'logger'>,
): MemoryKeeper | undefined {
  if (budgetBytes === undefined) return undefined
  const isSpecial = specialKeyspaces(prefix)
  const canDrop = (keyspace: Key): boolean =>
    attached.upstream !== undefined && !isSpecial(keyspace)
  return new MemoryKeeper({ ...parts, budgetBytes, canDrop, logger })
}

/** The served resources, without the keyspaces that were dropped for the memory budget. */
export function withoutDropped(
  { served = {}, memory, attached }: ServiceOptions,
  dropped: ReadonlySet<Key>,
): ServedOptions {
  const { isKept = () => true } = served
  if (memory?.budgetBytes === undefined || attached?.upstream === undefined) return served
  return { ...served, isKept: keyspace => !dropped.has(keyspace) && isKept(keyspace) }
}

/** The part of a service that there is in front of an upstream; undefined without one. */
export function createUpstreamSide(
  { UpstreamProxy: Loaded }: LoadedCode,
  { attached: { upstream } = {}, etcd }: ServiceOptions,
  { isKept, configured: declared = [] }: ServedOptions,
  parts: Omit<UpstreamParts, 'isKept' | 'prefix' | 'declared' | 'clients'>,
): UpstreamProxy | undefined {
  if (upstream === undefined || Loaded === undefined) return undefined
  const { prefix } = etcd
  return new Loaded(upstream, { ...parts, isKept, prefix, declared, clients: clientsOf(etcd) })
}

/** The mirrors of the upstream's resources; undefined where it is not mirrored. */
export function createApiMirrors(
  { attached: { upstream, source } = {}, logger }: ServiceOptions,
  { ApiMirrors: Loaded }: LoadedCode,
  {
    registry,
    metrics,
    ...parts
  }: Pick<ApiMirrorsOptions, 'clock' | 'sink' | 'isWatched' | 'onFactsChanged'> & {
    readonly registry: LiveRegistry
    readonly metrics: Metrics
  },
): OwnMirrors | undefined {
  if (upstream === undefined || source === undefined || Loaded === undefined) return undefined
  const mirrors = new Loaded({
    ...parts,
    ...source,
    metrics: metrics.mirror,
    onProof: proof => metrics.upstream.proven(proof),
    random: systemRandom,
    logger,
    upstream: upstream.servers,
    versionsOf: keyspace => registry.state.registry.resourcesAt(keyspace),
  })
  registry.onRedefined(() => mirrors.redefined())
  return mirrors
}

/** The first etcd, and then the others. */
export function clientsOf({ client, others = [] }: MirroredEtcds): Client[] {
  return [client, ...others.map(other => other.client)].filter(one => one !== undefined)
}

interface Watched {
  readonly registry: LiveRegistry
  readonly segments: SegmentCache<Segment>
  readonly sizes: KeyspaceSizes
  readonly mirrors: Mirrors
  readonly watches: OpenWatches
  readonly upstreamProxy: UpstreamProxy | undefined
  readonly memory: { readonly figures: MemoryFigures } | undefined
  readonly authorizer: Authorizer | undefined
  readonly health: Health
  readonly workers: Workers | undefined
  readonly writeSide: WriteSide | undefined
}

/** Shows the parts in the metrics. */
export function watchAll(metrics: Metrics, shown: Watched, options: ServiceOptions): void {
  const { segments, sizes, mirrors, watches, upstreamProxy, memory, authorizer, health } = shown
  const { workers } = shown
  const keyspaces = (): readonly KeyspaceFacts[] =>
    mirrors.statuses().map(status => ({ ...status, bytes: sizes.bytesOf(status.name as Key) }))
  if (memory !== undefined) metrics.watchMemory(() => memory.figures)
  // Those of the process are shown by whoever has the port.
  if (options.attached?.copies === undefined && options.listening.port === undefined) {
    metrics.watchProcess()
    metrics.showVersions(version)
  }
  // These are the main thread's, if there are several.
  if (options.attached?.copies === undefined) {
    metrics.watchCertificates(new CertificateDates(options.operating?.certificateFiles ?? []))
    metrics.watchReadiness(() => health.readyz.every(check => check.problem() === undefined))
    metrics.watchKeyspaces(keyspaces)
    if (mirrors.unansweredMs !== undefined) metrics.watchEtcd(() => mirrors.unansweredMs ?? 0)
  }
  const resourceOf = resourcesByKeyspace(shown.registry)
  metrics.apiServer?.storage.show({
    keyspaces: options.attached?.copies === undefined ? keyspaces : undefined,
    resourceOf,
  })
  const { levelSeats } = shown.writeSide ?? {}
  if (levelSeats !== undefined) metrics.apiServer?.flows.show(levelSeats)
  metrics.watchReviews(() => authorizer?.underWay ?? 0)
  metrics.watchSegments(workers?.sharedSegments ?? segments)
  if (options.listening.port === undefined) metrics.watchSlabs(heldSlabBytes)
  metrics.watchWatches(() => watches.figures)
  metrics.watchWaitingReads(() => mirrors.waitingReads)
  if (upstreamProxy !== undefined) metrics.upstream.watch(() => upstreamProxy.facts())
}
