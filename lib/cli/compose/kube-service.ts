/** One running service: a client of etcd, the mirror, and the API over HTTP; built from the bottom
 *  up, and stopped the other way round. */

import { CacheError, type CancelTimer, type Key, sleep } from '@watchglass/base'
import {
  followTls,
  type Handler,
  type LiveRegistry,
  lookAt,
  type Metrics,
  type OnFault,
  OpenFiles,
  openFilesMax,
  readTls,
  Server,
  storeIn,
  systemClock,
  withHostGuard,
} from '@watchglass/cache'
import type { Evidence, ReadSwitch, UpstreamKnowledge } from '@watchglass/proxy'
import type { EtcdDoor } from '@watchglass/etcd-server'
import { listenForAdmin } from './service-parts.ts'
import type { ClientListener, PageFigures } from '@watchglass/workers'
import type { ServiceOptions } from './service-options.ts'
import { assemble, metricsText, type KubeServiceParts } from './assemble.ts'
import { loadSides, type Sides, wings as wingCode } from './sides.ts'
import type { ServiceFaults } from './faults.ts'

/** The time limit of requests in flight when the service is asked to stop. */
const drainMaxMs = 10_000

export type { ServiceOptions } from './service-options.ts'

export class KubeService {
  readonly #parts: KubeServiceParts
  readonly #servers: ServiceServers
  readonly #stopDelayMs: number
  #stopped: Promise<void> | undefined

  private constructor(parts: KubeServiceParts, servers: ServiceServers, stopDelayMs = 0) {
    this.#parts = parts
    this.#servers = servers
    this.#stopDelayMs = stopDelayMs
  }

  /** The handler, for a listener outside of the service. */
  get handler(): Handler {
    return this.#parts.handler
  }

  /** Starts to mirror and to listen. Reads wait until what they need is mirrored. */
  static async start(options: ServiceOptions): Promise<KubeService> {
    const { listening, operating = {}, wings } = options
    const sides = await loadSides(wings)
    const { parts, front, stopTls } = await (wings?.workers === undefined
      ? listenHere(options, sides)
      : prepareWorkers(options, sides))
    parts.metrics.watchExchanges(() => front.exchanges)
    // A process that cannot start must not be kept alive by its listeners.
    const admin = await listenForAdmin(operating, {
      ...parts,
      logger: options.logger,
      schema: parts.registry.state.registry.schema,
      metrics: metricsText(parts, wings),
    })?.catch((error: unknown) => {
      front.close()
      throw error
    })
    const etcdDoor = await openEtcdDoor(options, parts.metrics).catch((error: unknown) => {
      front.close()
      admin?.close()
      throw error
    })
    parts.registry.start(parts.mirrors)
    parts.mirrors.start()
    etcdDoor?.start()
    parts.upstreamSide?.start()
    parts.memory?.start()
    parts.segmentKeeper.start()
    parts.sizes.start()
    parts.faults?.start()
    parts.upstreamSide?.readSwitch.onChange(isOn => parts.workers?.passThrough(isOn))
    parts.recent.start()
    const servers = { front, admin, etcdDoor, stopTls }
    const service = new KubeService(parts, servers, operating.stopDelayMs)
    try {
      await parts.writeSide?.start()
      void parts.health.ready.then(() => parts.writeSide?.mirrored())
      await parts.workers?.start(listening.listen, {
        checks: () => parts.health.own,
        desk: parts.authorizer?.desk,
        faults: parts.faults,
      })
    } catch (error) {
      await service.stop()
      throw error
    }
    return service
  }

  /** Port that it listens on. */
  get port(): number {
    return this.#servers.front.port
  }

  /** Port of our own paths; 0 if they have none. */
  get adminPort(): number {
    return this.#servers.admin?.port ?? 0
  }

  /** The page for people is at `/` of the main listener, too. */
  get hasPage(): boolean {
    return this.#parts.upstreamSide === undefined && this.#parts.gate === undefined
  }

  /** Someone decides who may read. */
  get isGuarded(): boolean {
    return this.#parts.gate !== undefined
  }

  /** The faults on purpose; undefined where there are to be none. */
  get faults(): ServiceFaults | undefined {
    return this.#parts.faults
  }

  /** Switches all reads to the upstream; undefined without an upstream. */
  get readSwitch(): ReadSwitch | undefined {
    return this.#parts.upstreamSide?.readSwitch
  }

  /** Results of comparisons with the upstream; undefined if there is none. */
  get evidence(): Evidence | undefined {
    return this.#parts.upstreamSide?.evidence
  }

  /** Knowledge of the upstream; undefined if there is none. */
  get knowledge(): UpstreamKnowledge | undefined {
    return this.#parts.upstreamSide?.knowledge
  }

  /** The number of objects in each keyspace. */
  entries(): ReadonlyMap<string, number> {
    return new Map(this.#parts.mirrors.statuses().map(({ name, entries }) => [name, entries]))
  }

  /** The resources of now. */
  get registry(): LiveRegistry {
    return this.#parts.registry
  }

  /** Resolves when everything is mirrored for the first time. */
  get ready(): Promise<void> {
    return this.#parts.health.ready.then(() => this.#parts.workers?.ready)
  }

  /** Resolves when the service cannot do its work: the data does not fit into the memory budget. */
  get refused(): Promise<CacheError> {
    return this.#parts.memory?.refused ?? new Promise(() => {})
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return this.#parts.health.isReady
  }

  /** The revision up to which nothing is missing in any keyspace. */
  get revision(): number {
    return Math.min(...this.#parts.mirrors.statuses().map(({ revision }) => revision))
  }

  /** Figures of this thread, for the page of the process. */
  get pageFigures(): PageFigures {
    const { watches, slow } = this.#parts
    return { look: lookAt(this.#parts), clients: watches.clients(), slow: slow.kept }
  }

  /** Number of open watches. */
  get openWatches(): number {
    return this.#parts.workers?.openWatches ?? this.#parts.watches.size
  }

  /** Encoded objects and indexes that are kept, which can be made again. */
  get kept(): Pick<KubeServiceParts, 'segments' | 'indexes'> {
    return this.#parts
  }

  /** Another thread has learnt whose credentials have this key. */
  named(key: string, user: string): void {
    this.#parts.authorizer?.named(key, user)
  }

  /** Drops what is oldest in the history of a keyspace until at most so many bytes are left. */
  trimHistory(keyspace: Key, bytes: number): void {
    storeIn(this.#parts.mirrors, keyspace)?.trimHistory(bytes)
  }

  /** The metrics of what runs here, without those of other threads. */
  ownMetrics(): Promise<string> {
    return this.#parts.metrics.text()
  }

  /** /readyz fails from now on, and answers tell clients to connect anew. */
  leave(): void {
    this.#parts.health.stop()
    this.#servers.front.leave()
  }

  /** Stops: /readyz fails at once; after the delay no new requests are accepted; requests in flight
   *  finish; then mirroring stops. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    const { clock, watches, authorizer, memory, writeSide, faults, recent } = this.#parts
    const { segmentKeeper, sizes } = this.#parts
    const { front, admin, etcdDoor, stopTls } = this.#servers
    stopTls()
    this.leave()
    if (this.#stopDelayMs > 0) await sleep(clock, this.#stopDelayMs)
    const cancel = clock.setTimer(drainMaxMs, () => front.close())
    const drained = front.drain()
    watches.stop()
    const keepers = [memory, segmentKeeper, sizes]
    const released = writeSide?.stop()
    for (const part of [authorizer, ...keepers, faults, recent]) part?.stop()
    await Promise.all([drained, etcdDoor?.stop(drainMaxMs)])
    cancel()
    admin?.close()
    await released
    await this.#parts.upstreamSide?.stop()
    await this.#parts.mirrors.stop()
  }
}

/** etcd's own API beside ours; undefined where it is not asked for. */
async function openEtcdDoor(
  { wings: { door } = {}, etcd: { client }, logger, clock = systemClock }: ServiceOptions,
  metrics: Metrics,
): Promise<EtcdDoor | undefined> {
  if (door === undefined) return undefined
  const { startEtcdDoor } = await wingCode.etcdDoor()
  return startEtcdDoor({ ...door, client, clock, metrics, logger })
}

/** Listens in this thread. */
async function listenHere(options: ServiceOptions, sides: Sides): Promise<Assembled> {
  const { listening, logger, clock = systemClock } = options
  const { listen, tls: files, address, guardedHosts } = listening
  const tls = files === undefined ? undefined : await readTls(files)
  // The API tells clients its address, which is known only once the system has chosen the port.
  let onFault: OnFault = () => {}
  const server = await Server.listen({
    listen,
    handler: exchange => exchange.abort(),
    onFault: error => onFault(error),
    tls,
    clock,
    openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
    // An upstream takes them, and so do made-up pods.
    takesUpgrades:
      options.wings?.upstream !== undefined || options.wings?.writes?.simulation !== undefined,
  })
  const parts = assemble(options, address ?? `${listen.host}:${server.port}`, sides)
  server.handler =
    guardedHosts === undefined ? parts.handler : withHostGuard(parts.handler, guardedHosts)
  onFault = parts.onFault
  const stopTls = followTls({
    files,
    what: 'certificates of --listen',
    current: tls,
    clock,
    logger,
    onChange: renewed => server.replaceTls(renewed),
  })
  return { parts, front: server, stopTls }
}

/** Other threads listen. */
async function prepareWorkers(options: ServiceOptions, sides: Sides): Promise<Assembled> {
  const { listen, address = `${listen.host}:${listen.port}` } = options.listening
  const parts = assemble(options, address, sides)
  const { workers } = parts
  if (workers === undefined) throw new CacheError('invalid_request', 'no threads are asked for')
  return { parts, front: workers, stopTls: () => {} }
}

interface Assembled {
  readonly parts: KubeServiceParts
  readonly front: ClientListener
  readonly stopTls: CancelTimer
}

interface ServiceServers {
  readonly front: ClientListener
  readonly stopTls: CancelTimer
  readonly admin: Server | undefined
  readonly etcdDoor: EtcdDoor | undefined
}
