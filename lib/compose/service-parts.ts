/** Parts of a service that are made from its options. */

import type { Key } from '../base/keys.ts'
import type { Clock } from '../base/clock.ts'
import { type Schema, schemaOf } from '../codec/schema/schema.ts'
import type { Segment } from '../codec/output/segments.ts'
import { isLoopback } from '../base/loopback.ts'
import { version } from '../base/version.ts'
import type { MetricsText } from '../http/documents/documents.ts'
import { createAdminHandler } from '../http/admin/admin.ts'
import type { Authorizer } from '../http/auth/authorizer.ts'
import type { Health } from '../http/documents/health.ts'
import type { OnFault } from '../http/server/exchange.ts'
import type { PageSource } from '../http/page/page-source.ts'
import { withHostGuard } from '../http/server/host-guard.ts'
import { Server } from '../http/server/server.ts'
import { versionBody } from '../kube/documents/discovery.ts'
import type { OpenWatches } from '../http/watch/open-watches.ts'
import { defaultHistory } from '../mirror/limits.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import { Metrics } from '../ops/metrics.ts'
import { ApiServerCounts } from '../ops/metrics/apiserver/apiserver-counts.ts'
import type { GroupResource } from '../ops/metrics/apiserver/storage-series.ts'
import { CertificateDates } from '../ops/metrics/certificate-dates.ts'
import type { KeyspaceFacts } from '../ops/metrics/keyspace-gauges.ts'
import { systemClock } from '../ops/system.ts'
import type { SegmentCache } from '../store/segments.ts'
import { heldSlabBytes } from '../store/slab.ts'
import type { KeyspaceSizes } from '../upkeep/keyspace-sizes.ts'
import { LiveRegistry } from '../upkeep/live-registry.ts'
import { mirroredKeyspaces, specialKeyspaces } from '../kube/resources/special-keyspaces.ts'
import { digests } from '../ops/digests.ts'
import { compactNow } from '../mirror/compact-now.ts'
import type { Revision } from '../base/revision.ts'
import type { Client } from '../etcd/client.ts'
import type { FaultCounts } from '../ops/metrics/fault-counts.ts'
import type { FaultType } from '../cluster/faults/rule.ts'
import { ServiceFaults } from './faults.ts'
import type { FaultSwitch } from '../http/admin/fault-switch.ts'
import type {
  MirroredEtcds,
  OperatingOptions,
  ServedOptions,
  ServiceOptions,
} from './service-options.ts'
import { type Sides, wings } from './sides.ts'
import type { RulesOfProcess, Threads } from '../threads/threads.ts'
import { measuredResources } from '../kube/resources/measured.ts'
import {
  type MemoryFigures,
  MemoryKeeper,
  type MemoryKeeperOptions,
} from '../upkeep/memory-keeper.ts'
import type { Front, UpstreamParts } from '../front/front.ts'

/** With an upstream, what is excluded is known all the same: it passes. */
export function createRegistry(
  { etcd: { prefix }, wings: { upstream, writes } = {}, logger }: ServiceOptions,
  served: ServedOptions,
  serverAddress: string,
): LiveRegistry {
  const { schema = schemaOf(), configured = [], excluded = [], hasCbor } = served
  const measured = writes?.simulation?.actors.has('nodes') === true ? measuredResources : []
  return new LiveRegistry({
    schema,
    prefix,
    configured: upstream === undefined ? [...configured, ...measured] : [],
    excluded: upstream === undefined ? excluded : [],
    isMirrored: mirroredKeyspaces({ ...served, prefix }),
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
  wings: { upstream } = {},
  clock = systemClock,
}: ServiceOptions): Metrics {
  const isAsked = hasApiServerMetrics ?? upstream === undefined
  return new Metrics(isAsked ? new ApiServerCounts(() => clock.monotonicMs()) : undefined)
}

/** The resource of each keyspace, as kube-apiserver names what it stores: of several versions or
 *  groups that share a keyspace, the stored one. */
function resourcesByKeyspace(
  registry: LiveRegistry,
): (keyspace: string) => GroupResource | undefined {
  let of: unknown = undefined
  let names = new Map<string, GroupResource>()
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

export interface AdminParts {
  readonly schema: Schema
  readonly clock: Clock
  readonly health: Health
  readonly metrics: MetricsText
  readonly upstreamSide: Front | undefined
  readonly faults?: FaultSwitch | undefined
  /** Undefined where there is no API to show. */
  readonly page?: PageSource | undefined
  readonly onFault: OnFault
}

/** Our own paths, where the main listener has the upstream's. */
export function listenForAdmin(
  { adminListen: listen, levelledLogger }: OperatingOptions,
  { schema, health, metrics, upstreamSide, page, faults, clock, onFault }: AdminParts,
): Promise<Server> | undefined {
  if (listen === undefined) return undefined
  const handler = createAdminHandler({
    health,
    metrics,
    version: versionBody(schema),
    readSwitch: upstreamSide?.readSwitch,
    resources: upstreamSide && (() => upstreamSide.report.all()),
    faults,
    page,
    log: levelledLogger,
    onFault,
  })
  // Of loopback addresses a web page in a browser here could read and switch as well.
  const guarded = isLoopback(listen.host) ? withHostGuard(handler) : handler
  return Server.listen({ listen, handler: guarded, clock, onFault })
}

/** The faults on purpose; undefined where there are to be none. */
export function createFaults(
  { FaultControl: Loaded }: Sides,
  { wings: { faults, copies } = {}, etcd: { client }, clock = systemClock, logger }: ServiceOptions,
  { counts, threads }: { readonly counts: FaultCounts; readonly threads: Threads | undefined },
): ServiceFaults | undefined {
  if (faults === undefined) return undefined
  const compact = copies === undefined ? (): Promise<Revision> => compactNow(client) : undefined
  const passOn = threads && ((given: RulesOfProcess): Promise<void> => threads.passFaults(given))
  const onMet = (type: FaultType): void => counts.met(type)
  const options = { ...faults, compact, passOn, onMet, clock, logger }
  return new ServiceFaults({
    control: Loaded && new Loaded(options),
    load: async () => new (await wings.faults()).FaultControl(options),
  })
}

/** The keeper of the memory budget; undefined if there is no budget. Keyspaces that declare
 *  resources or rules are never dropped. */
export function createMemoryKeeper(
  { memory: { budgetBytes } = {}, wings = {}, etcd: { prefix }, logger }: ServiceOptions,
  parts: Omit<MemoryKeeperOptions, 'budgetBytes' | 'canDrop' | 'logger'>,
): MemoryKeeper | undefined {
  if (budgetBytes === undefined) return undefined
  const isSpecial = specialKeyspaces(prefix)
  const canDrop = (keyspace: Key): boolean => wings.upstream !== undefined && !isSpecial(keyspace)
  return new MemoryKeeper({ ...parts, budgetBytes, canDrop, logger })
}

/** The served resources, without the keyspaces that were dropped for the memory budget. */
export function withoutDropped(
  { served = {}, memory, wings }: ServiceOptions,
  dropped: ReadonlySet<Key>,
): ServedOptions {
  const { isKept = () => true } = served
  if (memory?.budgetBytes === undefined || wings?.upstream === undefined) return served
  return { ...served, isKept: keyspace => !dropped.has(keyspace) && isKept(keyspace) }
}

/** The part of a service that there is in front of an upstream; undefined without one. */
export function createUpstreamSide(
  { Front: Loaded }: Sides,
  { wings: { upstream } = {}, etcd }: ServiceOptions,
  { isKept, configured: declared = [] }: ServedOptions,
  parts: Omit<UpstreamParts, 'isKept' | 'prefix' | 'declared' | 'clients'>,
): Front | undefined {
  if (upstream === undefined || Loaded === undefined) return undefined
  const { prefix } = etcd
  return new Loaded(upstream, { ...parts, isKept, prefix, declared, clients: clientsOf(etcd) })
}

/** The first etcd, and then the others. */
export function clientsOf({ client, others = [] }: MirroredEtcds): Client[] {
  return [client, ...others.map(other => other.client)]
}

interface Watched {
  readonly registry: LiveRegistry
  readonly segments: SegmentCache<Segment>
  readonly sizes: KeyspaceSizes
  readonly mirrors: Mirrors
  readonly watches: OpenWatches
  readonly upstreamSide: Front | undefined
  readonly memory: { readonly figures: MemoryFigures } | undefined
  readonly authorizer: Authorizer | undefined
  readonly health: Health
  readonly threads: Threads | undefined
}

/** Shows what there is. */
export function watchAll(metrics: Metrics, shown: Watched, options: ServiceOptions): void {
  const { segments, sizes, mirrors, watches, upstreamSide, memory, authorizer, health } = shown
  const { threads } = shown
  const keyspaces = (): readonly KeyspaceFacts[] =>
    mirrors.statuses().map(status => ({ ...status, bytes: sizes.bytesOf(status.name as Key) }))
  if (memory !== undefined) metrics.watchMemory(() => memory.figures)
  // These are the main thread's, if there are several.
  if (options.wings?.copies === undefined) {
    metrics.watchProcess()
    metrics.showVersions(version)
    metrics.watchCertificates(new CertificateDates(options.operating?.certificateFiles ?? []))
    metrics.watchReadiness(() => health.readyz.every(check => check.problem() === undefined))
    metrics.watchKeyspaces(keyspaces)
  }
  const resourceOf = resourcesByKeyspace(shown.registry)
  metrics.apiServer?.storage.show({
    keyspaces: options.wings?.copies === undefined ? keyspaces : undefined,
    resourceOf,
  })
  metrics.watchReviews(() => authorizer?.underWay ?? 0)
  metrics.watchSegments(threads?.sharedSegments ?? segments)
  metrics.watchSlabs(heldSlabBytes)
  metrics.watchWatches(() => watches.figures)
  metrics.watchWaitingReads(() => mirrors.waitingReads)
  if (upstreamSide !== undefined) metrics.upstream.watch(() => upstreamSide.facts())
}
