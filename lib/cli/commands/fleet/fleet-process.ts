/** The parts of a process that the clusters of a fleet share: the listener of clients with its
 *  certificate, that of operators, metrics, and the limits of all. */

import type { SecureContextOptions } from 'node:tls'
import {
  type CancelTimer,
  isLoopback,
  type LevelledLogger,
  type Logger,
  repeat,
  sleep,
  version,
} from '@watchglass/base'
import {
  CertificateDates,
  createAdminHandler,
  faultLogger,
  type FleetPageSource,
  followTls,
  type Handler,
  type Health,
  type Listen,
  Metrics,
  type OnFault,
  OpenFiles,
  openFilesMax,
  readTls,
  Server,
  systemClock,
  type TlsFiles,
} from '@watchglass/cache'
import { schemaOf } from '@watchglass/codec'
import { versionBody } from '@watchglass/kube'
import { heldSlabBytes } from '@watchglass/store'
import { commands } from '../commands.ts'
import { identityHeadersOf } from '../plan/auth-plan.ts'
import { certificateFilesOf } from '../plan/files.ts'
import { addressOf, tlsFilesOf } from '../plan/listen.ts'
import { pingsOf } from '../plan/serve-plan.ts'
import { drainMaxMs, listenForAdmin } from '../../compose/listeners.ts'
import { clusterDomainOption, idleAfterOption } from '../../options/fleet.ts'
import { addressIn, listenOption, shutdownDelayOption } from '../../options/listening.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { memoryOption } from '../../options/process.ts'
import { valueOf } from '../../options/rules.ts'
import { adminListenOption } from '../../options/upstream.ts'
import { AcceptedCallers } from './accepted-callers.ts'
import { type ClusterSettings, hasUpstream, valuesOfCluster } from './cluster-settings.ts'
import { createFleetAdmin } from './fleet-admin.ts'
import { FleetCluster } from './fleet-cluster.ts'
import { createFleetHandler } from './fleet-handler.ts'
import { Fleet } from './fleet.ts'
import { OpenChecks } from './open-checks.ts'
import { isOpenToAll, openCluster } from './open-cluster.ts'
import { SenderCheck } from './sender-check.ts'
import type { ReadSettings } from './settings-reader.ts'
import { SharedLimits } from './shared-limits.ts'

const { options: serveOptions } = commands.serve

/** Authorities of clusters that are not awake are read again this often, as those of one that is
 *  (`plan/trust.ts`). */
const authoritiesEveryMs = 60_000

export interface FleetProcessOptions {
  readonly values: OptionValues
  readonly logger: LevelledLogger
}

export class FleetProcess {
  readonly fleet: Fleet
  readonly address: string
  readonly #values: OptionValues
  readonly #server: Server
  readonly #admin: Server | undefined
  readonly #ends: readonly CancelTimer[]
  readonly #renewTls: () => Promise<void>
  readonly #health: FleetHealth

  private constructor(parts: {
    readonly fleet: Fleet
    readonly values: OptionValues
    readonly server: Server
    readonly admin: Server | undefined
    readonly health: FleetHealth
    readonly ends: readonly CancelTimer[]
    readonly renewTls: () => Promise<void>
  }) {
    this.fleet = parts.fleet
    this.#values = parts.values
    this.#server = parts.server
    this.#admin = parts.admin
    this.#health = parts.health
    this.#ends = parts.ends
    this.#renewTls = parts.renewTls
    this.address = addressOf(valueOf(parts.values, listenOption), parts.server.port)
  }

  static async start({ values, logger }: FleetProcessOptions): Promise<FleetProcess> {
    const metrics = metricsOf(values)
    const onFault = faultLogger(metrics.access, logger)
    const health = new FleetHealth()
    let port = 0
    const fleet = createFleet({ values, logger, portOf: () => port })
    const tlsFiles = tlsFilesFor(values, fleet)
    const tls = tlsFiles && (await readTls(tlsFiles))
    const domain = valueOf(values, clusterDomainOption)
    const handler = createFleetHandler({
      fleet,
      domain,
      guardedHosts: guardedHostsOf(values),
      health,
      clock: systemClock,
      onFault,
    })
    const server = await listenForFleet({ values, logger, tls, handler, onFault })
    port = server.port
    metrics.watchReadiness(() => !health.isStopping)
    metrics.watchClusters(() => fleet.factsOf(fleet.clusters))
    metrics.watchRequestsInFlight(() => server.requestsInFlight)
    const own = createAdminHandler({
      health,
      metrics,
      version: versionBody(schemaOf()),
      readSwitch: undefined,
      resources: undefined,
      log: logger,
      onFault,
    })
    const adminHandler = createFleetAdmin({ fleet, own, page: pageOf(fleet, values), onFault })
    const parts = { clock: systemClock, logger, onFault }
    const admin = await listenForAdmin(adminListenFor(values), adminHandler, parts)?.catch(
      (error: unknown) => {
        server.close()
        throw error
      },
    )
    if (admin !== undefined) logger.info('serving health and metrics', { port: admin.port })
    const ends = [
      followTls({
        files: tlsFiles,
        what: 'certificates of --listen',
        current: tls,
        clock: systemClock,
        logger,
        onChange: renewed => server.replaceTls(renewed),
      }),
      repeat(systemClock, authoritiesEveryMs, () => readAuthorities(fleet)),
    ]
    const renewTls = async (): Promise<void> => {
      if (tlsFiles !== undefined) server.replaceTls(await readTls(tlsFiles))
    }
    return new FleetProcess({ fleet, values, server, admin, health, ends, renewTls })
  }

  /** The port of clients. */
  get port(): number {
    return this.#server.port
  }

  /** The port of operators; 0 if there is none. */
  get adminPort(): number {
    return this.#admin?.port ?? 0
  }

  /** The settings of now, before the first client: TLS knows the authorities of all clusters. */
  async begin(settings: ReadSettings): Promise<void> {
    await this.fleet.apply(settings)
    await readAuthorities(this.fleet)
    await this.#renewTls()
    this.fleet.start()
  }

  /** /readyz fails at once; after the delay no new requests are accepted; those in flight end. */
  async stop(): Promise<void> {
    this.#health.isStopping = true
    this.#server.leave()
    const delaySeconds = valueOf(this.#values, shutdownDelayOption)
    if (delaySeconds > 0) await sleep(systemClock, delaySeconds * 1000)
    for (const end of this.#ends) end()
    const cancel = systemClock.setTimer(drainMaxMs, () => this.#server.close())
    const drained = this.#server.drain()
    // Watches would last as long as their clients: each cluster ends its own.
    await this.fleet.stop()
    await drained
    cancel()
    this.#admin?.close()
  }
}

function guardedHostsOf(values: OptionValues): ReadonlySet<string> | undefined {
  if (!isLoopback(valueOf(values, listenOption).host)) return undefined
  return new Set(values.all('allowed-host').map(name => name.toLowerCase()))
}

/** The page of operators. */
function pageOf(fleet: Fleet, values: OptionValues): FleetPageSource {
  return {
    version,
    clock: systemClock,
    clusters: () => fleet.factsOf(fleet.clusters),
    process: {
      get residentBytes() {
        return process.memoryUsage.rss()
      },
      budgetBytes: valueOf(values, memoryOption),
    },
    hasPage: name => fleet.find(name)?.service !== undefined,
  }
}

/** One after the other: most clusters have the same file, or none. */
async function readAuthorities(fleet: Fleet): Promise<void> {
  for (const cluster of fleet.clusters) await cluster.readAuthorities()
}

/** The certificate of the fleet, and the authorities of all clusters: a TLS server has one pool of
 *  them. By which of them a cluster knows its users, each cluster decides by signatures. */
function tlsFilesFor(values: OptionValues, fleet: Fleet): TlsFiles | undefined {
  const files = tlsFilesOf(values)
  if (files === undefined) return undefined
  const authorities = (): string[] => [
    ...new Set(fleet.clusters.flatMap(cluster => cluster.authorities)),
  ]
  return { ...files, clientCaFile: undefined, authorities, asksAlways: true }
}

interface ListenerParts {
  readonly values: OptionValues
  readonly logger: Logger
  readonly tls: SecureContextOptions | undefined
  readonly handler: Handler
  readonly onFault: OnFault
}

async function listenForFleet({ values, logger, ...parts }: ListenerParts): Promise<Server> {
  const listen = valueOf(values, listenOption)
  if (parts.tls === undefined && !isLoopback(listen.host)) {
    const { host } = listen
    logger.warn('tokens travel unencrypted: listen on https://, or on a loopback address', { host })
  }
  const clock = systemClock
  return Server.listen({
    ...parts,
    listen,
    clock,
    pings: pingsOf(values),
    openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
    // Upstreams take all of them.
    takesUpgrades: 'all',
  })
}

class FleetHealth implements Health {
  isStopping = false

  get livez(): Health['livez'] {
    return [{ name: 'ping', problem: () => undefined }]
  }

  get readyz(): Health['readyz'] {
    const problem = (): string | undefined =>
      this.isStopping ? 'process is shutting down' : undefined
    return [...this.livez, { name: 'shutdown', problem }]
  }
}

/** Also without an upstream: what operators see of all clusters is not for clients. */
function adminListenFor(values: OptionValues): Listen | undefined {
  const address = valueOf(values, adminListenOption)
  return address === 'none' ? undefined : (address ?? addressIn('http://127.0.0.1:8002'))
}

function metricsOf(values: OptionValues): Metrics {
  const metrics = new Metrics()
  metrics.watchProcess()
  metrics.showVersions(version)
  metrics.watchSlabs(heldSlabBytes)
  metrics.watchCertificates(new CertificateDates(certificateFilesOf(values)))
  return metrics
}

interface FleetParts {
  readonly values: OptionValues
  readonly logger: Logger
  readonly portOf: () => number
}

function createFleet({ values, logger, portOf }: FleetParts): Fleet {
  const limits = new SharedLimits()
  const open = new OpenChecks()
  const domain = valueOf(values, clusterDomainOption)
  const create = (settings: ClusterSettings, fleet: Fleet): FleetCluster => {
    const { name } = settings
    const ownLogger = withCluster(logger, name)
    const own = valuesOfCluster(settings, values, serveOptions)
    const isOpen = isOpenToAll(own)
    const cluster: FleetCluster = new FleetCluster({
      name,
      open: opening =>
        openCluster(
          { name, values: own, port: portOf(), domain, limits, logger: ownLogger },
          opening,
        ),
      makeRoom: () => fleet.makeRoomFor(cluster),
      callers: isOpen ? undefined : callersOf(own),
      senders: isOpen
        ? undefined
        : new SenderCheck({ values: own, open, clock: systemClock, logger: ownLogger }),
      hasPage: !hasUpstream(own),
      clock: systemClock,
      logger: ownLogger,
    })
    return cluster
  }
  return new Fleet({
    create,
    idleAfterMs: valueOf(values, idleAfterOption) * 1000,
    budgetBytes: valueOf(values, memoryOption),
    clock: systemClock,
    logger,
  })
}

function callersOf(values: OptionValues): AcceptedCallers {
  const isOfFrontProxy = values.text('auth') === 'requestheader'
  const { user, uid, group, extraPrefix } = identityHeadersOf(values)
  const names = [...user, ...uid, ...group, ...extraPrefix]
  return new AcceptedCallers({
    identityHeaders: isOfFrontProxy ? names.map(name => name.toLowerCase()) : [],
    nowMs: () => systemClock.monotonicMs(),
  })
}

/** Each line says whose it is. */
function withCluster(logger: Logger, cluster: string): Logger {
  return {
    debug: (message, fields) => logger.debug(message, { cluster, ...fields }),
    info: (message, fields) => logger.info(message, { cluster, ...fields }),
    warn: (message, fields) => logger.warn(message, { cluster, ...fields }),
    error: (message, fields) => logger.error(message, { cluster, ...fields }),
  }
}
