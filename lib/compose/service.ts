/** One running service: a client of etcd, the mirror, and the API over HTTP; built from the bottom up, and stopped the other way
 *  round. */

import { randomUUID } from 'node:crypto'
import { type CancelTimer, type Clock, sleep } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import type { Key } from '../base/keys.ts'
import type { Logger } from '../base/logger.ts'
import type { Client } from '../etcd/client.ts'
import type { AuditLog } from '../http/audit.ts'
import type { Authorizer } from '../http/auth/authorizer.ts'
import type { Handler } from '../http/exchange.ts'
import { createHandler } from '../http/handler.ts'
import { type Listen, Server } from '../http/server.ts'
import { Watches } from '../http/watches.ts'
import { readTls, type TlsFiles, watchTls } from '../http/tls.ts'
import type { ContinuationSeal } from '../kube/continuation.ts'
import type { Resource } from '../kube/resource.ts'
import { compactRevisionKey } from '../mirror/compaction.ts'
import { defaultLimits, type MirrorLimits } from '../mirror/limits.ts'
import type { MirrorSink } from '../mirror/mirrored-keyspace.ts'
import type { MirrorSet } from '../mirror/mirror-set.ts'
import { Metrics } from '../ops/metrics.ts'
import { systemClock, systemRandom } from '../ops/system.ts'
import type { HistoryBounds } from '../store/history.ts'
import type { Segment } from '../codec/segments.ts'
import { SegmentCache } from '../store/segments.ts'
import type { Snapshot } from '../store/snapshot.ts'
import { type AuthorizationOptions, createAuthorizer, ruleKeyspaces } from './authorization.ts'
import { ServiceHealth } from './health.ts'
import { IndexKeeper } from './index-keeper.ts'
import { LiveRegistry } from './live-registry.ts'
import { MirrorReads } from './mirror-reads.ts'
import { MirrorWatches } from './mirror-watches.ts'
import { createMirrors, type OtherEtcd } from './mirrors.ts'
import { SlabKeeper } from './slab-keeper.ts'

export interface ServiceOptions {
  /** Stays the caller's, who closes it after the service has stopped. */
  readonly client: Client
  readonly listen: Listen
  readonly tls?: TlsFiles | undefined
  /** HOST:PORT that clients are told, if it is another than where the service listens. */
  readonly address?: string | undefined
  /** `/registry` */
  readonly prefix: string
  /** etcds that keep what lies below some prefixes. Their clients stay the caller's, too. */
  readonly others?: readonly OtherEtcd[] | undefined
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded?: readonly string[] | undefined
  /** Resources that nothing in etcd declares. */
  readonly configured?: readonly Resource[] | undefined
  /** Encrypts continue tokens. */
  readonly seal?: ContinuationSeal | undefined
  /** Who may read; everybody who can connect if it is left out. */
  readonly authorization?: AuthorizationOptions | undefined
  /** Takes the record of what is answered here. Stays the caller's. */
  readonly audit?: ((onLost: (lines: number) => void) => AuditLog) | undefined
  readonly logger: Logger
  /** Of ages in Tables and of all waiting; the real one by default. */
  readonly clock?: Clock | undefined
  readonly limits?: MirrorLimits | undefined
  /** For so long it serves on when it is to stop, and says that it is not ready, so that load balancers leave. */
  readonly stopDelayMs?: number | undefined
}

/** Five minutes are what clients expect of a continuation; the rest bounds memory for each keyspace. */
const history: HistoryBounds = {
  maxBatches: 100_000,
  maxAgeMs: 10 * 60_000,
  maxBytes: 256 * 1024 * 1024,
}

/** The encoded objects of some hundred thousand pods. Beyond it, what was not asked for the longest is made again. */
const segmentsMaxBytes = 1024 * 1024 * 1024

/** How long answers under way may take to end when the service is asked to stop. */
const drainMaxMs = 10_000

export class Service {
  readonly #clock: Clock
  readonly #mirrors: MirrorSet
  readonly #server: Server
  readonly #watches: Watches
  readonly #registry: LiveRegistry
  readonly #authorizer: Authorizer | undefined
  readonly #health: ServiceHealth
  readonly #stopTls: CancelTimer
  readonly #stopDelayMs: number
  #stopped: Promise<void> | undefined
  readonly #ready: Promise<void>
  /** For whoever has a listener of his own. */
  readonly handler: Handler

  private constructor(parts: ServiceParts, server: Server, stopTls: CancelTimer, stopDelayMs = 0) {
    this.handler = parts.handler
    this.#clock = parts.clock
    this.#mirrors = parts.mirrors
    this.#watches = parts.watches
    this.#registry = parts.registry
    this.#authorizer = parts.authorizer
    this.#ready = parts.ready
    this.#server = server
    this.#stopTls = stopTls
    this.#health = parts.health
    this.#stopDelayMs = stopDelayMs
  }

  /** Starts to mirror and to listen. Reads wait until what they need is mirrored. */
  static async start(options: ServiceOptions): Promise<Service> {
    const { listen, tls: files, logger } = options
    const tls = files === undefined ? undefined : await readTls(files)
    // What is served says where it is served, which is known only once the system has chosen the port.
    let handler: Handler = exchange => exchange.abort()
    const { clock = systemClock } = options
    const server = await Server.listen({
      listen,
      handler: exchange => handler(exchange),
      tls,
      clock,
    })
    const address = options.address ?? `${listen.host}:${server.port}`
    const parts = assemble(options, address)
    handler = parts.handler
    const stopTls =
      files === undefined || tls === undefined
        ? (): void => {}
        : watchTls({
            files,
            current: tls,
            clock: parts.clock,
            onChange: renewed => {
              server.replaceTls(renewed)
              logger.info('using a renewed certificate')
            },
            onFailure: ({ message }) => {
              logger.warn('a renewed certificate cannot be used', { reason: message })
            },
          })
    parts.registry.start(parts.mirrors)
    parts.mirrors.start()
    return new Service(parts, server, stopTls, options.stopDelayMs)
  }

  /** Where it listens. */
  get port(): number {
    return this.#server.port
  }

  /** What there is of each kind, for whoever wants to say so. */
  entries(): ReadonlyMap<string, number> {
    return new Map(this.#mirrors.statuses().map(({ name, entries }) => [name, entries]))
  }

  /** The resources of now. */
  get registry(): LiveRegistry {
    return this.#registry
  }

  /** Resolves when everything is mirrored for the first time. */
  get ready(): Promise<void> {
    return this.#ready
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return isReady(this.#mirrors)
  }

  /** The revision up to which nothing is missing in any keyspace. */
  get revision(): number {
    return Math.min(...this.#mirrors.statuses().map(({ revision }) => revision))
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#watches.size
  }

  /** Is not ready any more and serves on for a while, then takes no more requests, lets those under way end, and stops mirroring. */
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
    await drained
    cancel()
    await this.#mirrors.stop()
  }
}

interface ServiceParts {
  readonly clock: Clock
  readonly watches: Watches
  readonly mirrors: MirrorSet
  readonly registry: LiveRegistry
  readonly authorizer: Authorizer | undefined
  readonly health: ServiceHealth
  readonly handler: Handler
  readonly ready: Promise<void>
}

function assemble(options: ServiceOptions, serverAddress: string): ServiceParts {
  const { prefix, logger, clock = systemClock, configured = [], excluded = [] } = options
  const metrics = new Metrics()
  const indexes = new IndexKeeper(keyspace => storeIn(mirrors, keyspace), clock)
  const slabs = new SlabKeeper(() => snapshotsIn(mirrors), clock, logger)
  const registry = new LiveRegistry({
    prefix,
    configured,
    excluded,
    history,
    serverAddress,
    logger,
    onRedefined: keyspaces => {
      indexes.forget(keyspaces)
      watches.endAll(keyspaces)
    },
  })
  let onReady = (): void => {}
  const ready = new Promise<void>(resolve => (onReady = resolve))
  const watchSource = new MirrorWatches(() => mirrors, clock)
  const watches = new Watches({ source: watchSource, clock, random: systemRandom })
  const authorizer =
    options.authorization === undefined
      ? undefined
      : createAuthorizer(options.authorization, { clock, metrics: metrics.access })
  const isRuleKeyspace = ruleKeyspaces(prefix)
  const sink = sinkOf({
    isRuleKeyspace,
    registry,
    indexes,
    slabs,
    watchSource,
    authorizer,
    onState: () => isReady(mirrors) && onReady(),
  })
  const mirrors: MirrorSet = createMirrors(options, {
    clock,
    random: systemRandom,
    limits: options.limits ?? defaultLimits,
    logger,
    metrics: metrics.mirror,
    sink,
    keyspaceOf: registry.keyspaceOf,
    compactRevisionKey,
  })
  const health = new ServiceHealth(mirrors)
  const segments = new SegmentCache<Segment>(segmentsMaxBytes)
  metrics.watchProcess()
  metrics.watchSegments(segments)
  metrics.watchWaitingReads(() => mirrors.waitingReads)
  metrics.watchKeyspaces(() => mirrors.statuses())
  const handler = createHandler({
    state: () => registry.state,
    reads: new MirrorReads(mirrors),
    watches,
    segments,
    seal: options.seal,
    authorizer,
    audit: options.audit?.(lines => metrics.access.auditLost(lines)),
    onList: (plan, state) => indexes.asked(plan, state.makeReader),
    health,
    requests: metrics.requests,
    metrics,
    clock,
    logger,
    auditId: randomUUID,
  })
  return { clock, mirrors, registry, authorizer, watches, health, handler, ready }
}

function storeIn(
  mirrors: MirrorSet,
  keyspace: Key,
): ReturnType<MirrorSet['keyspace']>['store'] | undefined {
  try {
    return mirrors.keyspace(keyspace).store
  } catch (error) {
    if (error instanceof CacheError && error.code === 'not_found') return undefined
    throw error
  }
}

function snapshotsIn(mirrors: MirrorSet): Snapshot[] {
  return mirrors.statuses().flatMap(({ name }) => storeIn(mirrors, name as Key)?.latest() ?? [])
}

function isReady(mirrors: MirrorSet): boolean {
  return mirrors.statuses().every(({ state }) => state === 'ready')
}

interface Followers {
  readonly authorizer: Authorizer | undefined
  /** Holds rules of who may do what. */
  readonly isRuleKeyspace: (keyspace: string) => boolean
  readonly registry: LiveRegistry
  readonly indexes: IndexKeeper
  readonly slabs: SlabKeeper
  readonly watchSource: MirrorWatches
  /** A keyspace has another state. */
  readonly onState: () => void
}

function sinkOf(followers: Followers): MirrorSink {
  const { registry, indexes, slabs, watchSource, authorizer, isRuleKeyspace, onState } = followers
  return {
    applied(keyspace, batch) {
      if (isRuleKeyspace(keyspace)) authorizer?.rulesChanged()
      registry.changed(keyspace)
      watchSource.applied(keyspace, batch)
      slabs.applied(batch)
    },
    progressed: () => {},
    reset: keyspace => {
      if (isRuleKeyspace(keyspace)) authorizer?.rulesChanged()
      registry.changed(keyspace)
      watchSource.reset(keyspace)
      indexes.restored(keyspace as Key)
    },
    stateChanged: keyspace => {
      registry.changed(keyspace)
      onState()
    },
  }
}
