/** The plan of `serve`, read from the options: the same in every thread of the process. */

import { schemaOf } from '@watchglass/codec'
import { type Resource, specialKeyspaces } from '@watchglass/kube'
import { keyFromText, type Logger } from '@watchglass/base'
import { certificateFilesOf, fileOf, keyPairOf } from './files.ts'
import { tlsFilesOf } from './listen.ts'
import { faultsOf } from './faults.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { readTokenEncryption } from './token-encryption.ts'
import { readTls, systemClock } from '@watchglass/cache'
import { startGuarded } from './access.ts'
import { auditFile } from './audit-log.ts'
import { type EtcdPlan, etcdPlanOf } from './etcd-plan.ts'
import { admissionOf } from './admission-plugins.ts'
import { simulationOf } from './simulation.ts'
import { webhooksOf } from './webhooks.ts'
import type { ClusterBasics, WriteSideOptions } from '@watchglass/simulator'
import type { ServerAccess } from '@watchglass/proxy'
import { type ServiceOptions } from '../../compose/kube-service.ts'
import { load } from '../../compose/loaded-code.ts'
import { tracingOf } from './tracing.ts'
import { adminListenOf, keptOf, namespacesIn } from './upstream.ts'
import type { AttachedOptions, ListeningOptions } from '../../compose/service-options.ts'
import { rbacOption } from '../../options/access.ts'
import { prefixOption } from '../../options/cluster.ts'
import { isOwnEtcd, isUpstreamMirrored } from '../../options/etcd.ts'
import { invalid } from '../../options/invalid.ts'
import {
  bookmarkIntervalOption,
  listenOption,
  pingIntervalOption,
  pingTimeoutOption,
  shutdownDelayOption,
} from '../../options/listening.ts'
import { kubernetesVersionOption } from '../../options/mirrored.ts'
import { memoryOption } from '../../options/process.ts'
import { checkRules, given, valueOf } from '../../options/rules.ts'
import { mirrorOption, namespacesOption } from '../../options/upstream.ts'
import {
  nodePortRangeOption,
  serviceIpRangeOption,
  serviceRangeOptions,
  signingOptions,
  takesWrites,
  writableOption,
} from '../../options/writes.ts'

/** The plan of a service. */
export interface ServePlan {
  readonly etcd: EtcdPlan
  /** `/registry` */
  readonly prefix: string
  readonly options: Omit<ServiceOptions, 'etcd'>
  stop(): Promise<void>
}

export interface PlanParts {
  readonly values: OptionValues
  readonly logger: Logger
  /** The user as whom the upstream is asked, in place of files that options name. */
  readonly access?: ServerAccess | undefined
}

/** Whatever is wrong on the command line, or in what it names, is said before an etcd is filled,
 *  which may take a while. */
export async function startPlan({ values, logger, access }: PlanParts): Promise<ServePlan> {
  const listen = valueOf(values, listenOption)
  const prefix = valueOf(values, prefixOption)
  const resourcesFile = values.text('resources')
  const configured = resourcesFile === undefined ? [] : await resourcesOf(resourcesFile)
  const schema = schemaOf(valueOf(values, kubernetesVersionOption))
  const etcd = etcdPlanOf(values, { schema, prefix, configured })
  const keyFile = values.text('continue-key-file')
  const auditLog = values.text('audit-log')
  const faults = await faultsOf(values)
  const operating = {
    adminListen: adminListenOf(values),
    certificateFiles: certificateFilesOf(values),
    stopDelayMs: valueOf(values, shutdownDelayOption) * 1000,
  }
  const served = {
    schema,
    configured,
    excluded: etcd.excluded,
    only: etcd.cacheOnly,
    isKept: keptOf(etcd),
    namespaces: namespacesIn(values),
    hasCbor: values.switch('cbor'),
    hasDrop: values.switch('serve-drop'),
    hasShards: values.switch('serve-shards'),
    tokenEncryption: keyFile === undefined ? undefined : readTokenEncryption(keyFile),
  }
  const memory = { budgetBytes: valueOf(values, memoryOption) }
  const files = tlsFilesOf(values)
  if (files !== undefined) await readTls(files)
  const taken = await writesOf(values)
  const audit = auditLog === undefined ? undefined : await auditFile(auditLog, logger)
  checkRules(values, [rbacOption, mirrorOption, namespacesOption])
  const tracing = await tracingOf(values, logger)
  const guarded = await startGuarded(values, listen.host, logger, access)
  const { tls, guardedHosts, authorization, rbac, upstream } = guarded
  const writes = taken && { ...taken, access: rbac }
  return {
    etcd,
    prefix,
    options: {
      listening: { listen, tls, guardedHosts, ...watchesOf(values) },
      served,
      access: { authorization, audit: audit?.open },
      operating,
      memory,
      hasApiServerMetrics: hasApiServerMetrics(values),
      attached: { writes, faults, upstream, source: sourceOf(values, { etcd, prefix }) },
      tracer: tracing?.tracer,
      logger,
    },
    async stop() {
      await guarded.stop()
      await tracing?.stop()
      await audit?.close()
    },
  }
}

/** Bookmarks and pings, which keep watches on which nothing happens, and the compression that not
 *  all clients can read. */
function watchesOf(
  values: OptionValues,
): Pick<ListeningOptions, 'bookmarkIntervalMs' | 'compressesWatches' | 'pings'> {
  return {
    bookmarkIntervalMs: valueOf(values, bookmarkIntervalOption) * 1000,
    compressesWatches: !values.switch('plain-watches'),
    pings: pingsOf(values),
  }
}

/** Pings to silent clients; undefined if there are to be none. */
export function pingsOf(values: OptionValues): ListeningOptions['pings'] {
  const intervalSeconds = valueOf(values, pingIntervalOption)
  const timeoutSeconds = valueOf(values, pingTimeoutOption)
  return intervalSeconds === 0 ? undefined : { intervalSeconds, timeoutSeconds }
}

/** The resources of the upstream that are mirrored; undefined where an etcd is. */
function sourceOf(
  values: OptionValues,
  { etcd: { atStart }, prefix }: Pick<ServePlan, 'etcd' | 'prefix'>,
): AttachedOptions['source'] {
  if (!isUpstreamMirrored.holds(values)) return undefined
  const needsEtcd = ['etcd-for', 'etcd-listen-prefix', 'resources', 'discover-resources']
  const stray = needsEtcd.find(name => given(name).holds(values))
  if (stray !== undefined) throw invalid(`--${stray} needs --etcd`)
  const isSpecial = specialKeyspaces(prefix)
  const named = atStart?.map(keyFromText)
  // Keyspaces of one namespace lie below that of their resource.
  const isNamed = (keyspace: string): boolean =>
    named?.some(prefix => keyspace.startsWith(prefix)) ?? true
  return { isWantedAtStart: keyspace => isSpecial(keyspace) || isNamed(keyspace) }
}

/** Undefined where the API takes none. */
async function writesOf(values: OptionValues): Promise<WriteSideOptions | undefined> {
  const isTaken = isWritable(values)
  const simulation = await simulationOf(values)
  const admission = await admissionOf(values)
  const webhooks = webhooksOf(values)
  checkRules(values, serviceRangeOptions)
  checkRules(values, signingOptions)
  const signing = signingOf(values)
  const serviceRanges = {
    clusterIpRange: valueOf(values, serviceIpRangeOption),
    nodePorts: valueOf(values, nodePortRangeOption),
  }
  if (!isTaken) return undefined
  const isFresh = isOwnEtcd.holds(values) && values.text('load') === undefined
  const basics = isFresh ? await basicsOf(values) : undefined
  return { hasControllers: true, simulation, basics, serviceRanges, signing, admission, webhooks }
}

function signingOf(values: OptionValues): WriteSideOptions['signing'] {
  const pair = keyPairOf(values, 'cluster-signing-cert-file', 'cluster-signing-key-file')
  return pair && { cert: pair.cert.toString(), key: pair.key.toString() }
}

/** By which pods would know the server: the last certificate of its file. A server without TLS has
 *  none, and pods get one that has signed nothing, since programs read the file. */
export async function basicsOf(values: OptionValues): Promise<ClusterBasics> {
  const own = fileOf(values, 'tls-cert')?.toString()
  const last = own?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1)
  if (last !== undefined) return { rootAuthority: `${last}\n` }
  const { createAuthority } = await load.authority()
  return { rootAuthority: createAuthority(systemClock.wallMs()).cert, isMadeUp: true }
}

/** Loads the parser of YAML only if there is a file. */
async function resourcesOf(file: string): Promise<readonly Resource[]> {
  const { readResources } = await import('./resources-file.ts')
  return readResources(file)
}

/** Whether the API takes writes. */
export function isWritable(values: OptionValues): boolean {
  checkRules(values, [writableOption])
  return takesWrites.holds(values)
}

/** Undefined: it depends on whether there is an upstream. */
function hasApiServerMetrics(values: OptionValues): boolean | undefined {
  const names = values.text('metrics-names')
  return names === undefined ? undefined : names === 'kube-apiserver'
}
