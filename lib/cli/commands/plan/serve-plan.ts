/** The plan of `serve`, read from the options: the same in every thread of the process. */

import { schemaOf } from '@watchglass/codec'
import type { Resource } from '@watchglass/kube'
import { CacheError, type Logger } from '@watchglass/base'
import { rbacPlanOf } from './auth-plan.ts'
import { certificateFilesOf, fileOf } from './files.ts'
import { listenOf, tlsFilesOf } from './listen.ts'
import { memoryBudgetOf } from './memory.ts'
import { faultsOf } from './faults.ts'
import { listed, type OptionValues } from '../../options/option-values.ts'
import { readTokenEncryption } from './token-encryption.ts'
import { readTls, systemClock } from '@watchglass/cache'
import { startGuarded } from './access.ts'
import { auditFile } from './audit-log.ts'
import { type EtcdPlan, etcdPlanOf } from './etcd-plan.ts'
import { prefixOf } from './generated.ts'
import { admissionOf } from './admission-plugins.ts'
import { simulationOf } from './simulation.ts'
import { webhooksOf } from './webhooks.ts'
import type { ClusterBasics, WriteSideOptions } from '@watchglass/simulator'
import { type ServiceOptions } from '../../compose/kube-service.ts'
import { wings } from '../../compose/sides.ts'
import { tracingOf } from './tracing.ts'
import { adminListenOf, keptOf } from './upstream.ts'

/** The plan of a service. */
export interface ServePlan {
  readonly etcd: EtcdPlan
  /** `/registry` */
  readonly prefix: string
  readonly options: Omit<ServiceOptions, 'etcd'>
  stop(): Promise<void>
}

/** Whatever is wrong on the command line, or in what it names, is said before an etcd is filled,
 *  which may take a while. */
export async function startPlan({
  values,
  logger,
}: {
  readonly values: OptionValues
  readonly logger: Logger
}): Promise<ServePlan> {
  const listen = listenOf(values)
  const prefix = prefixOf(values)
  const resourcesFile = values.text('resources')
  const configured = resourcesFile === undefined ? [] : await resourcesOf(resourcesFile)
  const schema = schemaOf(minorOf(values.text('kubernetes-version') ?? ''))
  const etcd = etcdPlanOf(values, { schema, prefix, configured })
  const keyFile = values.text('continue-key-file')
  const auditLog = values.text('audit-log')
  const faults = await faultsOf(values)
  const operating = {
    adminListen: adminListenOf(values),
    certificateFiles: certificateFilesOf(values),
    stopDelayMs: stopDelayOf(values) * 1000,
  }
  const served = {
    schema,
    configured,
    excluded: etcd.excluded,
    isKept: keptOf(etcd),
    hasCbor: values.switch('cbor'),
    hasDrop: values.switch('serve-drop'),
    hasShards: values.switch('serve-shards'),
    tokenEncryption: keyFile === undefined ? undefined : readTokenEncryption(keyFile),
  }
  const memory = { budgetBytes: memoryBudgetOf(values) }
  const files = tlsFilesOf(values)
  if (files !== undefined) await readTls(files)
  const taken = await writesOf(values)
  const audit = auditLog === undefined ? undefined : await auditFile(auditLog, logger)
  if (taken === undefined && rbacPlanOf(values) !== undefined) {
    throw invalid('--auth rbac needs a server that takes writes: --etcd embedded, or --writable')
  }
  const tracing = await tracingOf(values, logger)
  const guarded = await startGuarded(values, listen.host, logger)
  const { tls, guardedHosts, authorization, rbac, upstream } = guarded
  const writes = taken && { ...taken, access: rbac }
  return {
    etcd,
    prefix,
    options: {
      listening: { listen, tls, guardedHosts },
      served,
      access: { authorization, audit: audit?.open },
      operating,
      memory,
      hasApiServerMetrics: hasApiServerMetrics(values),
      wings: { writes, faults, upstream },
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

/** Undefined where the API takes none. */
async function writesOf(values: OptionValues): Promise<WriteSideOptions | undefined> {
  const takesWrites = isWritable(values)
  const simulation = await simulationOf(values, takesWrites)
  const admission = await admissionOf(values, takesWrites)
  const webhooks = webhooksOf(values, takesWrites)
  if (!takesWrites) return undefined
  const isFresh = isOwn(values) && values.text('load') === undefined
  const basics = isFresh ? await basicsOf(values) : undefined
  return { hasControllers: true, simulation, basics, admission, webhooks }
}

/** By which pods would know the server: the last certificate of its file. A server without TLS has
 *  none, and pods get one that has signed nothing, since programs read the file. */
async function basicsOf(values: OptionValues): Promise<ClusterBasics> {
  const own = fileOf(values, 'tls-cert')?.toString()
  const last = own?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.at(-1)
  if (last !== undefined) return { rootAuthority: `${last}\n` }
  const { createAuthority } = await wings.authority()
  return { rootAuthority: createAuthority(systemClock.wallMs()).cert, isMadeUp: true }
}

/** Loads the parser of YAML only if there is a file. */
async function resourcesOf(file: string): Promise<readonly Resource[]> {
  const { readResources } = await import('./resources-file.ts')
  return readResources(file)
}

/** `1.34` of `1.34`, `v1.34` and `34`. */
export function minorOf(text: string): string {
  const minor = /^(?:v?1\.)?(\d{1,3})$/.exec(text)?.[1]
  if (minor === undefined) {
    throw invalid(`--kubernetes-version "${text}" is not a minor version such as 1.34`)
  }
  return `1.${minor}`
}

/** Whether the API takes writes. */
export function isWritable(values: OptionValues): boolean {
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

/** Undefined: it depends on whether there is an upstream. */
function hasApiServerMetrics(values: OptionValues): boolean | undefined {
  const names = values.text('metrics-names')
  return names === undefined ? undefined : names === 'kube-apiserver'
}

/** The time to serve on, in seconds. */
export function stopDelayOf(values: OptionValues): number {
  const text = values.text('shutdown-delay') ?? ''
  if (!/^\d{1,4}$/.test(text)) {
    throw invalid(`--shutdown-delay "${text}" is not a number of seconds from 0 to 9999`)
  }
  return Number(text)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
