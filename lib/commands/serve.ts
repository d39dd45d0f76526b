/** `watchglass serve`: an etcd or an embedded one, the mirror of it, and the API; runs until it is asked to stop. */

import { schemaOf } from '../codec/schema/schema.ts'
import { type CancelTimer, sleep } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import { textFromKey } from '../base/keys.ts'
import type { Logger } from '../base/logger.ts'
import { certificateFilesOf } from '../config/files.ts'
import { type EtcdConnection, etcdConnection } from '../config/etcd.ts'
import { followFiles } from '../config/follow-files.ts'
import { type EtcdListen, etcdListenOf } from '../config/etcd-listen.ts'
import { faultsOf } from '../compose/faults.ts'
import { addressOf, listenOf, tlsFilesOf } from '../config/listen.ts'
import { memoryBudgetOf } from '../config/memory.ts'
import type { OptionValues } from '../config/option-values.ts'
import { listed } from '../config/upstream.ts'
import type { Client } from '../etcd/client.ts'
import { GrpcClient } from '../etcd/grpc/client.ts'
import { readTokenEncryption } from '../http/api/token-encryption.ts'
import { readTls } from '../http/server/tls.ts'
import { giveCollectorRoom } from '../ops/collector.ts'
import { systemClock } from '../ops/system.ts'
import { startGuarded } from '../compose/access.ts'
import { auditFile } from '../compose/audit-log.ts'
import type { CommandContext } from './context.ts'
import { type EtcdPlan, etcdPlanOf } from '../compose/etcd/etcd-plan.ts'
import { type EmbeddedEtcd, startEmbeddedEtcd } from '../compose/etcd/embedded-etcd.ts'
import { startEtcdService } from '../compose/etcd/etcd-service.ts'
import { clusterOf, fill, prefixOf, rateOf, startChurnOf } from './generate.ts'
import { readResources } from '../compose/resources-file.ts'
import { Service, type ServiceOptions } from '../compose/service.ts'
import { adminListenOf, keptOf } from '../compose/upstream-options.ts'

export async function serve(context: CommandContext): Promise<number> {
  const { values } = context
  const isOwnEtcd = isEmbedded(values)
  const etcdListen = etcdListenOf(values)
  if (values.text('listen') === 'none') {
    if (etcdListen === undefined) throw invalid('--listen none needs --etcd-listen')
    if (isOwnEtcd) await inEmbeddedEtcd(context, () => untilAborted(context.signal))
    else await serveEtcdOnly(context, etcdListen)
    return 0
  }
  const plan = await startPlan(context)
  const takeRoomBack = giveCollectorRoom()
  try {
    if (isOwnEtcd) {
      await inEmbeddedEtcd(context, etcd => serveApi(context, plan, etcd))
    } else {
      const connection = etcdConnection(values)
      const etcdDoor = etcdListen && { listen: etcdListen, connection }
      const options = { ...plan.options, etcdDoor }
      await inEtcd(context, connection, etcd => serveApi(context, { ...plan, options }, etcd))
    }
  } finally {
    takeRoomBack()
    await plan.stop()
  }
  return 0
}

function isEmbedded(values: OptionValues): boolean {
  const endpoints = listed(values, 'etcd')
  if (endpoints.join() === 'embedded') return true
  if (endpoints.includes('embedded')) throw invalid('--etcd embedded goes with no other endpoint')
  for (const name of ['load', 'generate', 'churn']) {
    if (values.text(name) !== undefined) throw invalid(`--${name} is for --etcd embedded only`)
  }
  return false
}

/** Whether the API takes writes. */
function isWritable(values: OptionValues): boolean {
  const [isAsked, isRefused] = [values.switch('writable'), values.switch('read-only')]
  if (isAsked && isRefused) throw invalid('--writable and --read-only exclude each other')
  const hasUpstream = values.text('upstream') !== undefined
  if (isAsked && hasUpstream) {
    throw invalid('--writable goes without --upstream: the upstream does the writes')
  }
  return isAsked || (!isRefused && !hasUpstream && isOwn(values))
}

function isOwn(values: OptionValues): boolean {
  return listed(values, 'etcd').join() === 'embedded'
}

/** The etcd that is mirrored. */
interface MirroredEtcd {
  readonly client: Client
  /** For people. */
  readonly name: string
}

/** Does a task with an etcd that is there. */
async function inEtcd(
  { values, logger }: CommandContext,
  connection: EtcdConnection,
  task: (etcd: MirroredEtcd) => Promise<void>,
): Promise<void> {
  const client = new GrpcClient(connection)
  const stopFollowing = followEtcdFiles(values, [client], logger)
  try {
    await task({ client, name: connection.endpoints.join(', ') })
  } finally {
    stopFollowing()
    await client.close()
  }
}

/** Has clients of etcd use renewed certificates. */
function followEtcdFiles(
  values: OptionValues,
  clients: readonly GrpcClient[],
  logger: Logger,
): CancelTimer {
  return followFiles({
    what: 'certificates for etcd',
    read: () => etcdConnection(values).tls,
    onChange(tls) {
      if (tls !== undefined) for (const client of clients) client.renew(tls)
    },
    clock: systemClock,
    logger,
  })
}

/** Does a task with an etcd of our own, filled as it was asked for. */
async function inEmbeddedEtcd(
  context: CommandContext,
  task: (etcd: MirroredEtcd) => Promise<void>,
): Promise<void> {
  const { values, logger } = context
  const listen = etcdListenOf(values)
  const embedded = await startEmbeddedEtcd({ listen, load: values.text('load'), logger })
  try {
    const stopChurn = await generateInto(embedded, context)
    await task({ client: embedded.createClient(), name: 'embedded, in memory' })
    stopChurn()
  } finally {
    await embedded.close()
  }
}

/** Serves etcd's own API and nothing else. */
async function serveEtcdOnly(
  { values, logger, signal }: CommandContext,
  listen: EtcdListen,
): Promise<void> {
  const connection = etcdConnection(values)
  const client = new GrpcClient(connection)
  const takeRoomBack = giveCollectorRoom()
  try {
    const service = await startEtcdService({
      client,
      connection,
      listen,
      adminListen: adminListenOf(values),
      stopDelayMs: stopDelayOf(values) * 1000,
      logger,
    })
    await untilAborted(signal)
    await service.stop()
  } finally {
    takeRoomBack()
    await client.close()
  }
  logger.info('stopped')
}

/** What is served, and how. */
interface ServePlan {
  readonly etcd: EtcdPlan
  readonly options: Omit<ServiceOptions, 'client' | 'others'>
  stop(): Promise<void>
}

/** Whatever is wrong on the command line, or in what it names, is said before an etcd is filled, which may take a while. */
async function startPlan({ values, logger }: CommandContext): Promise<ServePlan> {
  const listen = listenOf(values)
  const prefix = prefixOf(values)
  const resourcesFile = values.text('resources')
  const configured = resourcesFile === undefined ? [] : readResources(resourcesFile)
  const schema = schemaOf(minorOf(values.text('kubernetes-version') ?? ''))
  const etcd = etcdPlanOf(values, { schema, prefix, configured })
  const keyFile = values.text('continue-key-file')
  const auditLog = values.text('audit-log')
  const options = {
    listen,
    schema,
    prefix,
    configured,
    excluded: etcd.excluded,
    isKept: keptOf(etcd),
    adminListen: adminListenOf(values),
    tokenEncryption: keyFile === undefined ? undefined : readTokenEncryption(keyFile),
    isWritable: isWritable(values),
    hasControllers: isWritable(values),
    hasSystemNamespaces: isOwn(values) && values.text('load') === undefined,
    hasCbor: values.switch('cbor'),
    stopDelayMs: stopDelayOf(values) * 1000,
    memoryBudgetBytes: memoryBudgetOf(values),
    faults: faultsOf(values),
    certificateFiles: certificateFilesOf(values),
    logger,
    levelledLogger: logger,
  }
  const tls = tlsFilesOf(values)
  if (tls !== undefined) await readTls(tls)
  const audit = auditLog === undefined ? undefined : await auditFile(auditLog)
  const guarded = await startGuarded(values, listen.host, logger)
  return {
    etcd,
    options: { ...options, ...guarded.options, audit: audit?.open },
    async stop() {
      await guarded.stop()
      await audit?.flush()
    },
  }
}

/** `1.34` of `1.34`, `v1.34` and `34`. */
export function minorOf(text: string): string {
  const minor = /^(?:v?1\.)?(\d{1,3})$/.exec(text)?.[1]
  if (minor === undefined) {
    throw invalid(`--kubernetes-version "${text}" is not a minor version such as 1.34`)
  }
  return `1.${minor}`
}

/** Fills the embedded etcd with what was asked for. The answer stops the changes. */
async function generateInto(embedded: EmbeddedEtcd, context: CommandContext): Promise<() => void> {
  const { values, logger } = context
  const plan = values.text('generate')
  const rate = rateOf(values)
  if (plan === undefined) {
    if (rate !== undefined) throw invalid('--churn changes generated objects: add --generate')
    return () => {}
  }
  const cluster = clusterOf(values, plan)
  const client = embedded.createClient()
  await fill(client, cluster, context)
  return rate === undefined ? () => {} : startChurnOf({ client, cluster, rate, logger })
}

async function serveApi(
  context: CommandContext,
  plan: ServePlan,
  etcd: MirroredEtcd,
): Promise<void> {
  const others = [...plan.etcd.others].map(([endpoints, prefixes]) => ({
    client: new GrpcClient(etcdConnection(context.values, [endpoints])),
    prefixes,
  }))
  try {
    await serveMirrored(context, etcd, { ...plan.options, client: etcd.client, others })
  } finally {
    await Promise.all(others.map(other => other.client.close()))
  }
}

async function serveMirrored(
  { values, logger, signal, onSwitch }: CommandContext,
  etcd: MirroredEtcd,
  options: ServiceOptions,
): Promise<void> {
  const service = await Service.start(options)
  const address = addressOf(options.listen, service.port)
  logger.info('listening', { address })
  if (service.adminPort !== 0) {
    logger.info('serving health and metrics', { port: service.adminPort })
  }
  onSwitch(() => service.readSwitch?.toggle())
  void service.ready.then(() => {
    if (!signal.aborted) introduce({ service, address, etcd: etcd.name, values, logger })
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

interface Introduction {
  readonly service: Service
  readonly address: string
  readonly etcd: string
  readonly values: OptionValues
  readonly logger: Logger
}

/** Says what there is, and what to do with it. */
function introduce({ service, address, etcd, values, logger }: Introduction): void {
  const held = holdings(service)
  const objects = held.reduce((sum, [, count]) => sum + count, 0)
  logger.info('ready', { address, objects, revision: service.revision })
  const most = held.slice(0, holdingsShown).map(([name, count]) => `${count} ${name}`)
  const more = held.length - most.length
  if (more > 0) most.push(`${more} more kinds`)
  const tls = values.text('tls-cert') === undefined ? '' : ' --insecure-skip-tls-verify'
  const curl = tls === '' ? 'curl' : 'curl -k'
  const page = pageAddress(service, address, values)
  process.stdout.write(
    [
      `Watchglass serves the Kubernetes API at ${address}`,
      `  etcd   ${etcd}, at revision ${service.revision}`,
      `  holds  ${most.length === 0 ? 'nothing yet' : most.join(', ')}`,
      ...(page === undefined ? [] : [`  page   ${page} in a browser shows what happens here`]),
      `  first  kubectl --server ${address}${tls} get pods --all-namespaces --watch`,
      `  then   kubectl --server ${address}${tls} get nodes -o wide`,
      `         ${curl} '${address}/api/v1/pods?limit=2'`,
      '',
    ].join('\n'),
  )
}

/** Where the page for people is; undefined where it is not served. */
function pageAddress(service: Service, address: string, values: OptionValues): string | undefined {
  const { adminPort } = service
  const admin = adminListenOf(values)
  if (admin !== undefined && adminPort !== 0) return `${addressOf(admin, adminPort)}/`
  return service.hasPage ? `${address}/` : undefined
}

/** How long to serve on, in seconds. */
export function stopDelayOf(values: OptionValues): number {
  const text = values.text('shutdown-delay') ?? ''
  if (!/^\d{1,4}$/.test(text)) {
    throw invalid(`--shutdown-delay "${text}" is not a number of seconds from 0 to 9999`)
  }
  return Number(text)
}

const holdingsShown = 6

/** How many objects there are of each resource, the most first. */
function holdings(service: Service): [string, number][] {
  const entries = service.entries()
  const { registry } = service.registry.state
  return registry
    .keyspaces()
    .map(({ prefix, resources }): [string, number] => [
      resources[0]?.resource ?? textFromKey(prefix),
      entries.get(prefix) ?? 0,
    ])
    .filter(([, count]) => count > 0)
    .sort(([, a], [, b]) => b - a)
}

/** A timer keeps the process alive as well as the listeners do, and no timer is longer than this. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await sleep(systemClock, 2 ** 31 - 1, signal)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
