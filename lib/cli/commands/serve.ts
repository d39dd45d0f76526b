/** `watchglass serve`: an etcd or an embedded one, the mirror of it, and the API; runs until it is
 *  asked to stop. */

import { CacheError } from '@watchglass/base'
import { etcdConnection, isEmbedded } from './plan/etcd-connection.ts'
import type { Client, EtcdConnection } from '@watchglass/etcd'
import { etcdListenOf } from './plan/etcd-listen.ts'
import type { EtcdListen } from '@watchglass/etcd-server'
import { dataFolderOf } from './plan/data-folder.ts'
import { addressOf } from './plan/listen.ts'
import type { OptionValues } from '../options/option-values.ts'
import { threadsOf } from './plan/threads.ts'
import { giveCollectorRoom } from './collector.ts'
import { type Checkpoint, openFilesMax, systemClock } from '@watchglass/cache'
import type { CommandContext } from './context.ts'
import { requireFree } from './free-address.ts'
import { introduce } from './introduction.ts'
import { checkpointOf } from './plan/checkpoint.ts'
import { type OpenClient, openEtcdClient } from './etcd-client.ts'
import { loadRecording } from './recordings/load.ts'
import { replayPlanOf, startReplay } from './recordings/replay-plan.ts'
import type { WorkersOptions } from '@watchglass/workers'
import { workerScript } from './program.ts'
import type { WorkerOptions } from './worker-options.ts'
import { basicsOf, type ServePlan, startPlan } from './plan/serve-plan.ts'
import { untilAborted } from './until-aborted.ts'
import { progressOnStderr } from './progress.ts'
import { load } from '../compose/loaded-code.ts'
import { KubeService, type ServiceOptions } from '../compose/kube-service.ts'
import type { AttachedOptions } from '../compose/service-options.ts'
import { adminListenOf } from './plan/upstream.ts'
import { churnOption, prefixOption, seedOption } from '../options/cluster.ts'
import { fleetOptions } from '../options/fleet.ts'
import { isUpstreamMirrored } from '../options/etcd.ts'
import { etcdListenOption } from '../options/etcd-listen.ts'
import { invalid } from '../options/invalid.ts'
import { addressIn, listenOption, shutdownDelayOption } from '../options/listening.ts'
import { checkRules, valueOf } from '../options/rules.ts'

export async function serve(context: CommandContext): Promise<number> {
  const { values } = context
  requireOpenFiles()
  if (values.text('clusters') !== undefined) {
    return (await import('./serve-clusters.ts')).serveClusters(context)
  }
  checkRules(values, fleetOptions)
  const checkpoint = checkpointOf(values)
  const isOwnEtcd = isEmbedded(values)
  const etcdListen = etcdListenOf(values)
  if (values.text('listen') === 'none') {
    checkRules(values, [listenOption])
    if (isUpstreamMirrored.holds(values)) throw invalid('--listen none needs --etcd')
    if (isOwnEtcd) await inEmbeddedEtcd(context, () => untilAborted(context.signal))
    else if (etcdListen !== undefined) await serveEtcdOnly(context, etcdListen, checkpoint)
    return 0
  }
  if (isOwnEtcd) await requireFreeAddresses(values)
  const workers = await workersFor(values)
  const plan = await startPlan(context)
  const takeRoomBack = giveCollectorRoom(workers !== undefined)
  try {
    if (isUpstreamMirrored.holds(values)) {
      const name = values.all('upstream').join(', ')
      const apiReplica = etcdListen && { listen: etcdListen }
      const attached = { workers, apiReplica }
      await serveApi(context, withAttached(plan, attached), { client: undefined, name })
    } else if (isOwnEtcd) {
      await inEmbeddedEtcd(context, etcd =>
        serveApi(context, withAttached(plan, { workers }), etcd),
      )
    } else {
      const connection = etcdConnection(values)
      await inEtcd(context, connection, async etcd => {
        const { onRenewed } = etcd
        const writes = await withBasics(context, plan, etcd)
        const replica = etcdListen && { listen: etcdListen, connection, onRenewed, checkpoint }
        const attached = { ...writes, workers, replica }
        return serveApi(context, withAttached(plan, attached), { ...etcd, checkpoint })
      })
    }
  } finally {
    takeRoomBack()
    await plan.stop()
  }
  return 0
}

/** A cluster may take a minute to be generated or loaded: that an address is taken is said
 *  before. */
async function requireFreeAddresses(values: OptionValues): Promise<void> {
  await requireFree(valueOf(values, listenOption), listenOption.name)
  const admin = adminListenOf(values)
  if (admin !== undefined) await requireFree(admin, 'admin-listen')
  const etcd = valueOf(values, etcdListenOption)
  const etcdAddress = etcd && addressIn(`http://${etcd.address}`)
  if (etcdAddress !== undefined) await requireFree(etcdAddress, etcdListenOption.name)
}

/** Connections and threads of a process that serves nobody are some sixty open files. */
const openFilesMin = 128

function requireOpenFiles(): void {
  const max = openFilesMax()
  if (max >= openFilesMin) return
  throw new CacheError(
    'overloaded',
    `the process may open ${max} files, and needs ${openFilesMin} at least and one for each client: raise the limit (ulimit -n, LimitNOFILE= of systemd, nofile of containers)`,
  )
}

/** Serves an embedded cluster for as long as a task takes, and says nothing. */
export async function whileServing<T>(
  context: CommandContext,
  task: (service: KubeService, address: string) => Promise<T>,
): Promise<T> {
  const workers = await workersFor(context.values)
  const plan = await startPlan(context)
  const takeRoomBack = giveCollectorRoom(workers !== undefined)
  try {
    return await inEmbeddedEtcd(context, async ({ client }) => {
      const { prefix, options } = withAttached(plan, { workers })
      const service = await KubeService.start({ ...options, etcd: { client, prefix } })
      try {
        return await task(service, addressOf(options.listening.listen, service.port))
      } finally {
        await service.stop()
      }
    })
  } finally {
    takeRoomBack()
    await plan.stop()
  }
}

/** A plan with more attached packages. */
function withAttached(plan: ServePlan, more: Partial<AttachedOptions>): ServePlan {
  return { ...plan, options: { ...plan.options, attached: { ...plan.options.attached, ...more } } }
}

/** The writes into an etcd that is empty, or was when this server came to it first: they begin with
 *  what every cluster has. */
async function withBasics(
  { values, signal, logger }: CommandContext,
  { prefix, options }: ServePlan,
  { client }: MirroredEtcd,
): Promise<Pick<AttachedOptions, 'writes'>> {
  const writes = options.attached?.writes
  if (writes === undefined || client === undefined) return {}
  const { isForFreshCluster } = await load.writeSide()
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(freshMs)])
    if (!(await isForFreshCluster(client, prefix, soon))) return {}
  } catch (error) {
    const { message: reason } = CacheError.from(error, 'source_failed')
    logger.warn('whether etcd is empty is not known: nothing is made in it', { reason })
    return {}
  }
  return { writes: { ...writes, basics: await basicsOf(values) } }
}

const freshMs = 10_000

/** Workers, unless one thread does all. */
async function workersFor(values: OptionValues): Promise<WorkersOptions | undefined> {
  const count = threadsOf(values)
  if (count === 1) return undefined
  const { prepareWorkers } = await load.workers()
  const options: WorkerOptions = { values: values.entries }
  return prepareWorkers({ count, script: workerScript(), options })
}

/** The etcd that is mirrored. Without a client it is the upstream. */
interface MirroredEtcd {
  readonly client: Client | undefined
  readonly checkpoint?: Checkpoint | undefined
  /** For people. */
  readonly name: string
}

/** Does a task with an etcd that is there. */
async function inEtcd(
  context: CommandContext,
  connection: EtcdConnection,
  task: (etcd: MirroredEtcd & OpenClient) => Promise<void>,
): Promise<void> {
  const etcd = await openEtcdClient(connection, context)
  try {
    await task({ ...etcd, name: connection.endpoints.join(', ') })
  } finally {
    await etcd.close()
  }
}

/** Does a task with an etcd of our own, filled as it was asked for. */
async function inEmbeddedEtcd<T>(
  context: CommandContext,
  task: (etcd: MirroredEtcd) => Promise<T>,
): Promise<T> {
  const { values, logger } = context
  const listen = etcdListenOf(values)
  const replay = replayPlanOf(values)
  const loaded = replay === undefined ? values.text('load') : undefined
  const dataFolder = dataFolderOf(values)
  const generated = await generatedFor(context)
  const { startEmbeddedEtcd } = await load.embedded()
  const embedded = await startEmbeddedEtcd({
    listen,
    load: loaded === undefined ? undefined : engine => loadRecording(engine, loaded, logger),
    dataFolder,
    fill: generated?.fill,
    clock: systemClock,
    logger,
  })
  const stops: (() => void)[] = []
  try {
    if (embedded.isRecovered) refuseChangesOfThePast(values)
    if (replay !== undefined) {
      stops.push(await startReplay(replay, embedded.createClient(), context))
    }
    stops.push(generated?.startChurn(embedded.createClient()) ?? (() => {}))
    const place = dataFolder === undefined ? 'in memory' : `in ${dataFolder.folder}`
    return await task({ client: embedded.createClient(), name: `embedded, ${place}` })
  } finally {
    // Whoever goes on writing would keep a process alive that could not listen.
    for (const stop of stops) stop()
    await embedded.close()
  }
}

/** Serves etcd's own API and nothing else. */
async function serveEtcdOnly(
  context: CommandContext,
  listen: EtcdListen,
  checkpoint: Checkpoint | undefined,
): Promise<void> {
  const { values, logger, signal } = context
  const connection = etcdConnection(values)
  const { startEtcdService } = await import('../compose/etcd-service.ts')
  const etcd = await openEtcdClient(connection, context)
  const takeRoomBack = giveCollectorRoom()
  try {
    const service = await startEtcdService({
      client: etcd.client,
      checkpoint,
      connection,
      onRenewed: etcd.onRenewed,
      listen,
      adminListen: adminListenOf(values),
      stopDelayMs: valueOf(values, shutdownDelayOption) * 1000,
      logger,
    })
    await untilAborted(signal)
    await service.stop()
  } finally {
    takeRoomBack()
    await etcd.close()
  }
  logger.info('stopped')
}

/** A cluster to fill the embedded etcd with. */
interface Generated {
  readonly fill: (client: Client) => Promise<void>
  /** The answer stops the changes. */
  readonly startChurn: (client: Client) => () => void
}

/** Undefined if none was asked for. */
async function generatedFor(context: CommandContext): Promise<Generated | undefined> {
  const { values, logger } = context
  const plan = values.text('generate')
  checkRules(values, [churnOption])
  if (plan === undefined) return undefined
  const { clusterOf, fill, forgetStamps, rateOf, startChurnOf } = await load.generator()
  const rate = rateOf(values.text('churn'))
  // What is only written once is not kept: a hundred thousand pods are 70 MB of plans.
  let cluster: ReturnType<typeof clusterOf> | undefined
  cluster = clusterOf({
    plan,
    seed: valueOf(values, seedOption),
    prefix: valueOf(values, prefixOption),
  })
  return {
    fill: async client => {
      if (cluster === undefined) return
      await fill(client, cluster, { ...context, progress: progressOnStderr() })
      if (rate !== undefined) return
      cluster = undefined
      forgetStamps()
    },
    startChurn: client =>
      rate === undefined || cluster === undefined
        ? () => {}
        : startChurnOf({ client, cluster, rate, logger }),
  }
}

/** Replays and churn go on from what they have made themselves. */
function refuseChangesOfThePast(values: OptionValues): void {
  for (const name of ['speed', 'churn']) {
    if (values.text(name) === undefined) continue
    throw invalid(
      `--${name} begins with a cluster of its own, and ${values.text('data-dir')} has one already: leave --${name} out, or name an empty folder`,
    )
  }
}

async function serveApi(
  context: CommandContext,
  { etcd: { others: elsewhere }, prefix, options }: ServePlan,
  etcd: MirroredEtcd,
): Promise<void> {
  const others = await Promise.all(
    [...elsewhere].map(async ([endpoints, prefixes]) => ({
      ...(await openEtcdClient(etcdConnection(context.values, [endpoints]), context)),
      prefixes,
    })),
  )
  try {
    await serveMirrored(context, etcd, {
      ...options,
      etcd: { client: etcd.client, checkpoint: etcd.checkpoint, others, prefix },
      operating: { ...options.operating, levelledLogger: context.logger },
    })
  } finally {
    await Promise.all(others.map(other => other.close()))
  }
}

async function serveMirrored(
  { values, logger, signal, onSwitch }: CommandContext,
  etcd: MirroredEtcd,
  options: ServiceOptions,
): Promise<void> {
  const service = await KubeService.start(options)
  const address = addressOf(options.listening.listen, service.port)
  logger.info('listening', { address })
  if (service.adminPort !== 0) {
    logger.info('serving health and metrics', { port: service.adminPort })
  }
  onSwitch(() => service.readSwitch?.toggle())
  void service.ready.then(() => {
    if (!signal.aborted) introduce({ service, address, source: etcd.name, values, logger })
  })
  const refused = new AbortController()
  let refusal: CacheError | undefined
  void service.refused.then(failure => {
    refusal = failure
    refused.abort()
  })
  await untilAborted(AbortSignal.any([signal, refused.signal]))
  await service.stop()
  if (refusal !== undefined) throw refusal
  logger.info('stopped')
}
