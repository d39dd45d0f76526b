/** One running service: a client of etcd, the mirror, and the API over HTTP; built from the bottom up, and stopped the other way
 *  round. */

import { type CancelTimer, type Clock, sleep } from '../base/clock.ts'
import type { CacheError } from '../base/errors.ts'
import type { Key } from '../base/keys.ts'
import type { Authorizer } from '../http/auth/authorizer.ts'
import { Fairness } from '../http/limits/fairness.ts'
import type { Handler, OnFault } from '../http/server/exchange.ts'
import { createAuditIds } from '../http/audit/audit-ids.ts'
import { createHandler } from '../http/api/handler.ts'
import type { PageSource } from '../http/page/page-source.ts'
import { withHostGuard } from '../http/server/host-guard.ts'
import { Server } from '../http/server/server.ts'
import type { ReadSwitch } from '../http/api/read-switch.ts'
import { OpenWatches } from '../http/watch/open-watches.ts'
import { readTls, watchTls } from '../http/server/tls.ts'
import { compactRevisionKey } from '../mirror/feed/compaction.ts'
import { defaultLimits } from '../mirror/limits.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import { Metrics } from '../ops/metrics.ts'
import type { Recent } from '../ops/recent.ts'
import { systemClock, systemRandom } from '../ops/system.ts'
import type { Segment } from '../codec/output/segments.ts'
import type { Keyspace } from '../store/keyspace.ts'
import { SegmentCache } from '../store/segments.ts'
import { accessRules, createAuthorizer } from './authorization.ts'
import { Followers, onAnyChange } from '../upkeep/followers.ts'
import type { EtcdDoor } from './etcd/etcd-door.ts'
import { createFaults, type FaultsSide } from './faults.ts'
import { ServiceHealth } from './health.ts'
import { IndexKeeper } from '../upkeep/index-keeper.ts'
import type { LiveRegistry } from '../upkeep/live-registry.ts'
import type { MemoryKeeper } from '../upkeep/memory-keeper.ts'
import { MirrorReads } from '../upkeep/mirror-reads.ts'
import { type WriteSide, createWriteSide } from './writes/write-side.ts'
import { etcdKeysOf } from './etcd/etcd-keys.ts'
import { WatchHubs } from '../upkeep/watch-hubs.ts'
import { createMirrors } from './mirrors.ts'
import { createPage } from './page.ts'
import {
  checksOf,
  createMemoryKeeper,
  createRegistry,
  createUpstreamSide,
  faultLogger,
  listenForAdmin,
  snapshotsIn,
  storeIn,
  openEtcdDoor,
  watchAll,
  withoutDropped,
} from './service-parts.ts'
import type { ServiceOptions } from './service-options.ts'
import { SlabKeeper } from '../upkeep/slab-keeper.ts'
import { ViewKeeper } from '../upkeep/view-keeper.ts'
import type { UpstreamSide } from './upstream-side.ts'
import type { Evidence } from '../upstream/evidence/evidence.ts'
import type { UpstreamKnowledge } from '../upstream/knowledge/knowledge.ts'

/** Enough for the encoded objects of some hundred thousand pods. Beyond it, the least recently used are evicted. */
const segmentsMaxBytes = 1024 * 1024 * 1024

/** How long requests in flight may take to finish when the service is asked to stop. */
const drainMaxMs = 10_000

export type { ServiceOptions } from './service-options.ts'

export class Service {
  readonly #clock: Clock
  readonly #mirrors: Mirrors
  readonly #server: Server
  readonly #watches: OpenWatches
  readonly #registry: LiveRegistry
  readonly #authorizer: Authorizer | undefined
  readonly #health: ServiceHealth
  readonly #stopTls: CancelTimer
  readonly #stopDelayMs: number
  #stopped: Promise<void> | undefined
  readonly #memory: MemoryKeeper | undefined
  readonly #writeSide: WriteSide | undefined
  readonly #recent: Recent
  readonly #upstreamSide: UpstreamSide | undefined
  readonly #faults: FaultsSide | undefined
  readonly #admin: Server | undefined
  readonly #etcdDoor: EtcdDoor | undefined
  /** The handler, for a listener outside of the service. */
  readonly handler: Handler

  private constructor(
    parts: ServiceParts,
    { server, admin, etcdDoor }: ServiceServers,
    stopTls: CancelTimer,
    stopDelayMs = 0,
  ) {
    this.#upstreamSide = parts.upstreamSide
    this.#admin = admin
    this.#etcdDoor = etcdDoor
    this.handler = parts.handler
    this.#clock = parts.clock
    this.#mirrors = parts.mirrors
    this.#watches = parts.watches
    this.#registry = parts.registry
    this.#authorizer = parts.authorizer
    this.#memory = parts.memory
    this.#writeSide = parts.writeSide
    this.#faults = parts.faults
    this.#recent = parts.recent
    this.#server = server
    this.#stopTls = stopTls
    this.#health = parts.health
    this.#stopDelayMs = stopDelayMs
  }

  /** Starts to mirror and to listen. Reads wait until what they need is mirrored. */
  static async start(options: ServiceOptions): Promise<Service> {
    const { listen, tls: files, logger } = options
    const tls = files === undefined ? undefined : await readTls(files)
    // The API tells clients its address, which is known only once the system has chosen the port.
    let handler: Handler = exchange => exchange.abort()
    let onFault: OnFault = () => {}
    const { clock = systemClock } = options
    const server = await Server.listen({
      listen,
      handler: exchange => handler(exchange),
      onFault: error => onFault(error),
      tls,
      clock,
      takesUpgrades: options.upstream !== undefined,
    })
    const address = options.address ?? `${listen.host}:${server.port}`
    const parts = assemble(options, address)
    handler =
      options.guardedHosts === undefined
        ? parts.handler
        : withHostGuard(parts.handler, options.guardedHosts)
    onFault = parts.onFault
    parts.metrics.watchExchanges(() => server.exchanges)
    // A process that cannot start must not be kept alive by its listeners.
    const admin = await listenForAdmin(options, parts)?.catch((error: unknown) => {
      server.close()
      throw error
    })
    const etcdDoor = await openEtcdDoor(options, parts)?.catch((error: unknown) => {
      server.close()
      admin?.close()
      throw error
    })
    const stopTls =
      files === undefined || tls === undefined
        ? (): void => {}
        : watchTls({
            files,
            current: tls,
            clock: parts.clock,
            onChange: renewed => {
              server.replaceTls(renewed)
              logger.info('the TLS certificate was renewed')
            },
            onFailure: ({ message }) => {
              logger.warn('the renewed TLS certificate cannot be used; the old one stays in use', {
                reason: message,
              })
            },
          })
    parts.registry.start(parts.mirrors)
    parts.mirrors.start()
    etcdDoor?.start()
    parts.upstreamSide?.start()
    parts.memory?.start()
    parts.faults?.start()
    parts.recent.start()
    await parts.writeSide?.start()
    return new Service(parts, { server, admin, etcdDoor }, stopTls, options.stopDelayMs)
  }

  /** Where it listens. */
  get port(): number {
    return this.#server.port
  }

  /** Where our own paths are; 0 if they are nowhere else. */
  get adminPort(): number {
    return this.#admin?.port ?? 0
  }

  /** The page for people is at `/` of the main listener, too. */
  get hasPage(): boolean {
    return this.#upstreamSide === undefined && this.#authorizer === undefined
  }

  /** Switches all reads to the upstream; undefined without an upstream. */
  get readSwitch(): ReadSwitch | undefined {
    return this.#upstreamSide?.readSwitch
  }

  /** What was compared with the upstream; undefined if there is none. */
  get evidence(): Evidence | undefined {
    return this.#upstreamSide?.evidence
  }

  /** What is known of the upstream; undefined if there is none. */
  get knowledge(): UpstreamKnowledge | undefined {
    return this.#upstreamSide?.knowledge
  }

  /** The number of objects in each keyspace. */
  entries(): ReadonlyMap<string, number> {
    return new Map(this.#mirrors.statuses().map(({ name, entries }) => [name, entries]))
  }

  /** The resources of now. */
  get registry(): LiveRegistry {
    return this.#registry
  }

  /** Resolves when everything is mirrored for the first time. */
  get ready(): Promise<void> {
    return this.#health.ready
  }

  /** Resolves when the service cannot do its work: the data does not fit into the memory budget. */
  get refused(): Promise<CacheError> {
    return this.#memory?.refused ?? new Promise(() => {})
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return this.#health.isReady
  }

  /** The revision up to which nothing is missing in any keyspace. */
  get revision(): number {
    return Math.min(...this.#mirrors.statuses().map(({ revision }) => revision))
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#watches.size
  }

  /** Stops: /readyz fails at once; after the delay no new requests are accepted; requests in flight finish; then mirroring stops. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#stopTls()
    this.#health.stop()
    if (this.#stopDelayMs > 0) await sleep(this.#clock, this.#stopDelayMs)
    const cancel = this.#clock.setTimer(drainMaxMs, () => this.#server.close())
    const drained = this.#server.drain()
    this.#watches.stop()
    this.#authorizer?.stop()
    this.#memory?.stop()
    this.#writeSide?.stop()
    this.#faults?.stop()
    this.#recent.stop()
    await Promise.all([drained, this.#etcdDoor?.stop(drainMaxMs)])
    cancel()
    this.#admin?.close()
    await this.#upstreamSide?.stop()
    await this.#mirrors.stop()
  }
}

interface ServiceServers {
  readonly server: Server
  readonly admin: Server | undefined
  readonly etcdDoor: EtcdDoor | undefined
}

interface ServiceParts {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly registry: LiveRegistry
  readonly mirrors: Mirrors
  readonly watches: OpenWatches
  readonly authorizer: Authorizer | undefined
  readonly upstreamSide: UpstreamSide | undefined
  readonly memory: MemoryKeeper | undefined
  readonly writeSide: WriteSide | undefined
  readonly faults: FaultsSide | undefined
  readonly health: ServiceHealth
  readonly page: PageSource
  readonly recent: Recent
  readonly handler: Handler
  readonly onFault: OnFault
}

/** Builds everything, from the registry and the mirror up. Nothing is started: what follows the mirror is added to the list of followers
 *  as it is made. */
function assemble(options: ServiceOptions, serverAddress: string): ServiceParts {
  const { logger, clock = systemClock } = options
  const metrics = new Metrics()
  const dropped = new Set<Key>()
  const kept = withoutDropped(options, dropped)
  const registry = createRegistry(kept, serverAddress)
  const followers = new Followers()
  const mirrors = createMirrors(options, {
    clock,
    random: systemRandom,
    limits: options.limits ?? defaultLimits,
    logger,
    metrics: metrics.mirror,
    sink: followers,
    keyspaceOf: registry.keyspaceOf,
    compactRevisionKey,
  })
  const segments = new SegmentCache<Segment>(options.segmentsMaxBytes ?? segmentsMaxBytes)
  const storeOf = (keyspace: Key): Keyspace | undefined => storeIn(mirrors, keyspace)
  const indexes = new IndexKeeper({ storeOf, clock, fits: bytes => memory?.fits(bytes) ?? true })
  const hubs = new WatchHubs(mirrors, clock)
  const watches = new OpenWatches({ source: hubs, clock, random: systemRandom })
  const authorizer = createAuthorizer(options.authorization, { clock, metrics: metrics.access })
  const common = { clock, logger, registry, mirrors }
  const upstreamSide = createUpstreamSide(kept, {
    ...common,
    metrics: metrics.upstream,
    etcd: etcdKeysOf([options.client, ...(options.others ?? []).map(({ client }) => client)]),
    prefix: options.prefix,
    declared: options.configured ?? [],
    resumeHeld: keyspace => hubs.resumeHeld(keyspace),
  })
  const memory = createMemoryKeeper(options, {
    segments,
    indexes,
    clock,
    keyspaces: () => mirrors.statuses().map(({ name }) => name as Key),
    storeOf,
    drop(keyspace) {
      dropped.add(keyspace)
      watches.endAll([keyspace])
      registry.mirroredChanged()
    },
  })
  const health = new ServiceHealth(mirrors, checksOf(upstreamSide, memory))
  const writeSide = createWriteSide(options, { clock, registry, storeOf })
  followers.add(
    authorizer && accessRules(options.prefix, authorizer),
    onAnyChange(keyspace => registry.changed(keyspace)),
    hubs,
    new SlabKeeper(() => snapshotsIn(mirrors), clock, logger),
    indexes,
    new ViewKeeper(() => registry.state.registry, storeOf, clock),
    memory,
    upstreamSide,
    health,
    writeSide?.controllers,
  )
  registry.onRedefined(keyspaces => indexes.forget(keyspaces))
  registry.onRedefined(keyspaces => watches.endAll(keyspaces))
  void health.ready.then(() => memory?.started())
  const faults = createFaults(options, { clock, counts: metrics.faults })
  const shown = createPage({ ...common, metrics, health, watches, upstreamSide })
  const onFault = faultLogger(metrics, logger)
  const shared = { ...common, metrics, watches, authorizer, health, onFault, ...shown }
  const parts = { ...shared, upstreamSide, memory, writeSide, faults }
  watchAll(metrics, { ...parts, segments }, options)
  return { ...parts, handler: handlerOf(options, { ...parts, indexes, segments }) }
}

interface HandlerParts extends Omit<ServiceParts, 'handler'> {
  readonly indexes: IndexKeeper
  readonly segments: SegmentCache<Segment>
}

function handlerOf(options: ServiceOptions, parts: HandlerParts): Handler {
  const { clock, mirrors, registry, authorizer, watches, health, upstreamSide, metrics } = parts
  const { faults } = parts
  const { indexes, segments, onFault, page } = parts
  return createHandler({
    state: () => registry.state,
    reads: new MirrorReads(mirrors, clock, upstreamSide !== undefined),
    proxy: upstreamSide?.proxy,
    faults: faults?.faults,
    comparison: upstreamSide?.comparison,
    watches,
    segments,
    tokenEncryption: options.tokenEncryption,
    hasCbor: options.hasCbor ?? false,
    authorizer,
    fairness: new Fairness({ clock, metrics: metrics.access }),
    audit: options.audit?.(lines => metrics.access.auditLost(lines)),
    onList: (plan, { makeReader }, user) => indexes.asked(plan, { user, makeReader }),
    writes: parts.writeSide?.writes,
    health,
    requests: metrics.requests,
    metrics,
    page: upstreamSide === undefined && authorizer === undefined ? page : undefined,
    clock,
    logger: options.logger,
    onFault,
    auditId: createAuditIds(),
  })
}
