/** Builds the parts of a service, from the registry and the mirror up. */

import { type Clock, type Key, type Logger, textFromKey } from '@watchglass/base'
import {
  type Authorizer,
  compactRevisionKey,
  createAuditIds,
  createAuthorizer,
  createHandler,
  createMirrors,
  defaultHistory,
  defaultLimits,
  Fairness,
  faultLogger,
  Followers,
  type Gate,
  type Handler,
  IndexKeeper,
  KeyspaceChanges,
  KeyspaceSizes,
  type KeyspaceSizesOptions,
  keyspacesOf,
  type LiveRegistry,
  type MemoryKeeper,
  type Metrics,
  type MetricsText,
  MirrorReads,
  type Mirrors,
  onAnyChange,
  type OnFault,
  OpenWatches,
  type PageSource,
  PlainValues,
  type Recent,
  ReleasedMemory,
  RuleChanges,
  SegmentKeeper,
  segmentsMaxBytes,
  ServiceHealth,
  type ServiceHealthOptions,
  SlabKeeper,
  SlowRequests,
  snapshotsIn,
  type StorageSeriesTable,
  storeIn,
  systemClock,
  systemRandom,
  WarmUp,
  type WarmUpOptions,
  WatchHubs,
} from '@watchglass/cache'
import type { Segment } from '@watchglass/codec'
import { type Keyspace, type KeyValue, SegmentCache, type Snapshot } from '@watchglass/store'
import type { ServiceFaults } from './faults.ts'
import { createPage } from './page.ts'
import type { OnAsked, WriteSide, WriteSideParts } from '@watchglass/simulator'
import {
  clientsOf,
  createFaults,
  createMemoryKeeper,
  createMetrics,
  createRegistry,
  createUpstreamSide,
  watchAll,
  withoutDropped,
} from './service-parts.ts'
import type { ServiceOptions, WingOptions } from './service-options.ts'
import type { Sides } from './sides.ts'
import type { Workers } from '@watchglass/workers'
import type { Front } from '@watchglass/proxy'

/** The parts of a service. */
export interface KubeServiceParts {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly registry: LiveRegistry
  readonly mirrors: Mirrors
  readonly watches: OpenWatches
  /** Asks an API server who may do what. */
  readonly authorizer: Authorizer | undefined
  /** Decides who may do what: the authorizer, or a wing; undefined: everybody may do everything. */
  readonly gate: Gate | undefined
  readonly upstreamSide: Front | undefined
  readonly memory: MemoryKeeper | undefined
  readonly writeSide: WriteSide | undefined
  readonly faults: ServiceFaults | undefined
  readonly health: ServiceHealth
  readonly page: PageSource
  readonly slow: SlowRequests
  readonly recent: Recent
  readonly segments: SegmentCache<Segment>
  readonly segmentKeeper: SegmentKeeper
  readonly indexes: IndexKeeper
  readonly sizes: KeyspaceSizes
  readonly workers: Workers | undefined
  readonly handler: Handler
  readonly onFault: OnFault
}

/** Builds everything, from the registry and the mirror up. Nothing is started: what follows the
 *  mirror is added to the list of followers as it is made. */
export function assemble(options: ServiceOptions, address: string, sides: Sides): KubeServiceParts {
  const { wings = {}, logger, clock = systemClock } = options
  const { client, prefix } = options.etcd
  const { copies } = wings
  const metrics = createMetrics(options)
  const dropped = new Set<Key>()
  const kept = withoutDropped(options, dropped)
  const registry = createRegistry(options, kept, address)
  const followers = new Followers()
  const { mirrors, workers } = mirrorsOf(options, { metrics, followers, registry, sides })
  const storeOf = (keyspace: Key): Keyspace | undefined => storeIn(mirrors, keyspace)
  const sized = sizedOf(options, { storeOf, clock })
  const { segments, sizes } = sized
  const fits = (bytes: number): boolean => (memory ?? copies)?.fits(bytes) ?? true
  const indexes = new IndexKeeper({ storeOf, clock, fits })
  const hubs = new WatchHubs(mirrors, clock)
  const reports = metrics.apiServer?.watches
  const watches = new OpenWatches({ source: hubs, clock, random: systemRandom, reports })
  const resumeHeld = (keyspace: Key): void => hubs.resumeHeld(keyspace)
  const common = { clock, random: systemRandom, logger, registry, mirrors, resumeHeld }
  const forAccess = { ...common, metrics: metrics.access, askDesk: copies?.askDesk }
  const authorizer = createAuthorizer(options.access?.authorization, forAccess)
  const forUpstream = { ...common, metrics: metrics.upstream }
  const upstreamSide = createUpstreamSide(sides, options, kept, forUpstream)
  const memory = createMemoryKeeper(options, {
    ...(workers?.kept ?? { segments, indexes }),
    sizes,
    clock,
    keyspaces: () => keyspacesOf(mirrors),
    storeOf,
    drop(keyspace) {
      dropped.add(keyspace)
      watches.endAll([keyspace])
      registry.mirroredChanged()
    },
  })
  const own = [...(upstreamSide?.checks ?? []), memory?.healthCheck, workers?.check]
  const health = healthOf(mirrors, { own, copies, writeSide: () => writeSide })
  const onFault = faultLogger(metrics.access, logger)
  const storage = metrics.apiServer?.storage
  // Those that simulate meet faults, too, which are made after them.
  const live: { faults: ServiceFaults | undefined } = { faults: undefined }
  const faultsNow = (): ServiceFaults['faults'] => live.faults?.faults
  const forWrites = { ...common, client, prefix, address, storeOf, storage, faults: faultsNow }
  const writeSide = writeSideOf(wings, sides, forWrites)
  followers.add(
    authorizer && new RuleChanges(prefix, authorizer),
    onAnyChange(keyspace => registry.changed(keyspace)),
    hubs,
    storage && new KeyspaceChanges(storage),
    // The values of a worker are in slabs of the main thread.
    copies === undefined ? slabsOf({ mirrors, workers, clock, logger }) : undefined,
    indexes,
    warmUpOf(options, { registry, storeOf, clock, health, onFault }),
    sizes,
    upstreamSide,
    health,
    ...(writeSide?.followers ?? []),
    workers?.mirrorSide,
  )
  registry.onRedefined(keyspaces => indexes.forget(keyspaces))
  registry.onRedefined(keyspaces => endWatches(watches, keyspaces, logger))
  void health.ready.then(() => memory?.started())
  live.faults = createFaults(sides, options, { counts: metrics.faults, workers })
  const gate = authorizer ?? writeSide?.gate
  const shown = { watches, health, upstreamSide, workers, authorizer, gate }
  const shared = { ...common, ...shown, ...live, metrics, slow: new SlowRequests(clock, logger) }
  const page = createPage({ ...shared, all: metricsText({ metrics, workers }, wings) }, wings)
  const parts = { ...shared, ...page, ...sized, indexes, memory, writeSide, onFault }
  watchAll(metrics, parts, options)
  return { ...parts, handler: handlerOf(options, parts) }
}

function endWatches(watches: OpenWatches, keyspaces: readonly Key[], logger: Logger): void {
  const count = watches.endAll(keyspaces)
  const fields = { watches: count, keyspaces: keyspaces.map(textFromKey).join(' ') }
  if (count > 0) logger.info('watches end: their resources are defined in another way', fields)
}

function healthOf(
  mirrors: Mirrors,
  {
    own,
    copies,
    writeSide,
  }: Pick<WingOptions, 'copies'> &
    Pick<ServiceHealthOptions, 'own'> & { readonly writeSide: () => WriteSide | undefined },
): ServiceHealth {
  return new ServiceHealth(mirrors, {
    own,
    others: copies?.checks,
    // Workers begin when everything is there.
    missing: copies === undefined ? () => writeSide()?.missing() : undefined,
    serverChecks: () => writeSide()?.checks,
  })
}

function slabsOf({
  mirrors,
  workers,
  ...common
}: Pick<KubeServiceParts, 'mirrors' | 'workers' | 'clock'> & { readonly logger: Logger }): SlabKeeper {
  const latest = (): Iterable<Snapshot> => snapshotsIn(mirrors)
  const onMoved = (entry: KeyValue): void => workers?.mirrorSide.moved(entry)
  return new SlabKeeper({ ...common, latest, onMoved })
}

/** Undefined where the API takes no writes. */
function writeSideOf(
  { writes }: WingOptions,
  { createWriteSide }: Sides,
  { storage, ...parts }: WriteSideParts & { readonly storage: StorageSeriesTable | undefined },
): WriteSide | undefined {
  const { registry } = parts
  const onAsked: OnAsked | undefined =
    storage && ((asked, key, tookMs) => storage.asked(asked, registry.keyspaceOf(key), tookMs))
  return writes && createWriteSide?.(writes, { ...parts, onAsked })
}

/** None in front of workers: they write the lists. */
function warmUpOf(
  { wings, served }: ServiceOptions,
  parts: Pick<KubeServiceParts, 'registry' | 'health' | 'onFault'> &
    Pick<WarmUpOptions, 'storeOf' | 'clock'>,
): WarmUp | undefined {
  if (wings?.workers !== undefined) return undefined
  const { registry, health, storeOf, clock, onFault } = parts
  const { ready } = health
  const { hasDrop, hasShards } = served ?? {}
  const options = { ready, storeOf, clock, onFault, hasDrop, hasShards }
  return new WarmUp({ state: () => registry.state, ...options })
}

/** Encoded objects, what lets go of them, and what counts the contents of keyspaces. */
function sizedOf(
  { memory, wings }: ServiceOptions,
  parts: Pick<KeyspaceSizesOptions, 'storeOf' | 'clock'>,
): Pick<KubeServiceParts, 'segments' | 'segmentKeeper' | 'sizes'> {
  const released = new ReleasedMemory()
  const maxBytes = memory?.segmentsMaxBytes ?? segmentsMaxBytes
  const segments = new SegmentCache<Segment>(maxBytes, bytes => released.add(bytes))
  const sizes = new KeyspaceSizes({ ...parts, trees: 1 + (wings?.workers?.count ?? 0) })
  const segmentKeeper = new SegmentKeeper(segments, parts.clock, () => sizes.totalBytes)
  return { segments, segmentKeeper, sizes }
}

interface MirrorsParts {
  readonly metrics: Metrics
  readonly followers: Followers
  readonly registry: LiveRegistry
  readonly sides: Sides
}

/** The mirrors; in a worker copies of them; in front of workers also what feeds these. */
function mirrorsOf(
  options: ServiceOptions,
  { metrics, followers: sink, registry, sides }: MirrorsParts,
): { readonly mirrors: Mirrors; readonly workers: Workers | undefined } {
  const { etcd, served = {}, wings = {}, clock = systemClock, logger } = options
  const { client, others, prefix, limits = defaultLimits } = etcd
  const common = { clock, limits, metrics: metrics.mirror, sink }
  if (wings.copies !== undefined) {
    return {
      mirrors: wings.copies.createMirrors({ ...common, history: defaultHistory }),
      workers: undefined,
    }
  }
  let workers: Workers | undefined = undefined
  const { configured = [], excluded } = served
  const elsewhere = configured.flatMap(({ storage }) => storage?.prefix ?? [])
  const mirrors = createMirrors(
    { client, others, excluded, prefixes: [`${prefix}/`, ...elsewhere] },
    {
      ...common,
      random: systemRandom,
      logger,
      keyspaceOf: registry.keyspaceOf,
      plain: new PlainValues(),
      compactRevisionKey,
      onFactsChanged: () => workers?.mirrorSide.factsChanged(),
    },
  )
  if (wings.workers !== undefined && sides.Workers !== undefined) {
    workers = new sides.Workers(wings.workers, {
      mirrors,
      keyspaceOf: registry.keyspaceOf,
      clients: clientsOf(etcd),
      clock,
      logger,
      metrics,
      // What an upstream shows changes how objects are written, in each thread at its own time.
      sharesSegments: wings.upstream === undefined,
    })
  }
  return { mirrors, workers }
}

function handlerOf(options: ServiceOptions, parts: Omit<KubeServiceParts, 'handler'>): Handler {
  const { clock, mirrors, registry, gate, watches, health, upstreamSide, metrics } = parts
  const { indexes, segments, onFault, page } = parts
  const {
    served: { tokenEncryption, hasCbor = false, hasShards, hasDrop } = {},
    access,
    logger,
  } = options
  const { copies } = options.wings ?? {}
  const fairness = new Fairness({
    clock,
    metrics: metrics.access,
    createTally: copies?.createTally,
  })
  const common = { clock, logger, tokenEncryption, segments, hasCbor, fairness, authorizer: gate }
  const auditId = createAuditIds()
  return createHandler({
    ...common,
    registry,
    reads: new MirrorReads({
      mirrors,
      clock,
      hasUpstream: upstreamSide !== undefined,
      reports: metrics.apiServer?.storage,
    }),
    faults: parts.faults,
    upstream: upstreamSide?.sideFor({ ...common, auditId }),
    watches,
    sharedSegments: copies?.segments,
    hasShards,
    hasDrop,
    audit: access?.audit?.(lines => metrics.access.auditLost(lines)),
    onList: (plan, { makeReader }, user) => indexes.asked(plan, { user, makeReader }),
    answerWrite: parts.writeSide?.answerWrite,
    conversions: parts.writeSide?.conversions,
    documents: parts.writeSide?.documents,
    health,
    requests: metrics.requests,
    slow: parts.slow,
    tracer: options.tracer,
    reports: metrics.apiServer?.requests,
    metrics: metricsText(parts, options.wings),
    page:
      upstreamSide === undefined
        ? { source: page, shows: gate === undefined ? 'all' : 'objects' }
        : undefined,
    onFault,
    auditId,
  })
}

/** The metrics of the whole process, in whichever thread they are asked for. */
export function metricsText(
  { metrics, workers }: Pick<KubeServiceParts, 'metrics' | 'workers'>,
  { copies }: WingOptions = {},
): MetricsText {
  const { contentType } = metrics
  const text = copies?.allMetrics ?? (() => workers?.allMetrics() ?? metrics.text())
  return { contentType, text }
}
