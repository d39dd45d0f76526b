/** Tries what options and files say, without asking any server. */

import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { basisOf, recordedRange, schemaOf } from '@watchglass/codec'
import { etcdPlanOf } from '../plan/etcd-plan.ts'
import { faultsOf } from '../plan/faults.ts'
import { readResources } from '../plan/resources-file.ts'
import { endpointOf } from '../plan/tracing.ts'
import { adminListenOf } from '../plan/upstream.ts'
import { authPlanOf, rbacPlanOf } from '../plan/auth-plan.ts'
import { commands } from '../commands.ts'
import { requireFree } from '../free-address.ts'
import { etcdConnection } from '../plan/etcd-connection.ts'
import { etcdListenOf } from '../plan/etcd-listen.ts'
import { certificateFilesOf } from '../plan/files.ts'
import { tlsFilesOf } from '../plan/listen.ts'
import { variableOf } from '../../options/option.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { threadsOf } from '../plan/threads.ts'
import { upstreamConnection } from '../plan/upstream-settings.ts'
import { readTokenEncryption } from '../plan/token-encryption.ts'
import { CertificateDates, readTls, systemClock } from '@watchglass/cache'
import { isWritable } from '../plan/serve-plan.ts'
import { admissionOf } from '../plan/admission-plugins.ts'
import { simulationOf } from '../plan/simulation.ts'
import { webhooksOf } from '../plan/webhooks.ts'
import type { CheckList, Finding } from './check-list.ts'
import { prefixOption } from '../../options/cluster.ts'
import { invalid } from '../../options/invalid.ts'
import {
  addressIn,
  type ListenAddress,
  listenOption,
  bookmarkIntervalOption,
  pingIntervalOption,
  pingTimeoutOption,
  shutdownDelayOption,
} from '../../options/listening.ts'
import { kubernetesVersionOption } from '../../options/mirrored.ts'
import { memoryOption } from '../../options/process.ts'
import { checkpointOf } from '../plan/checkpoint.ts'
import { checkRules, listedValuesOf, valueOf } from '../../options/rules.ts'
import { compareOption, compatibleWithOption } from '../../options/upstream.ts'

/** Each option that has a form to keep. */
export async function checkOptions(list: CheckList, values: OptionValues): Promise<void> {
  await list.try(`--listen ${values.text('listen')}`, () => {
    if (values.text('listen') !== 'none') return tryAddress(valueOf(values, listenOption), 'listen')
    checkRules(values, [listenOption])
    return 'only etcd’s API is served'
  })
  await list.try(`--admin-listen ${values.text('admin-listen') ?? ''}`.trim(), () => {
    const address = adminListenOf(values)
    return address === undefined ? 'no listener of its own' : tryAddress(address, 'admin-listen')
  })
  await checkEtcdListen(list, values)
  const schema = (): ReturnType<typeof schemaOf> =>
    schemaOf(valueOf(values, kubernetesVersionOption))
  const resourcesFile = values.text('resources')
  const configured = (): ReturnType<typeof readResources> =>
    resourcesFile === undefined ? [] : readResources(resourcesFile)
  await list.try(`--kubernetes-version ${values.text('kubernetes-version')}`, () => {
    const { minor } = schema()
    if (basisOf(minor) === 'recorded') return 'compared with recordings of a server of it'
    return `derived from Kubernetes' sources: there are recordings of ${recordedRange()}`
  })
  if (resourcesFile !== undefined) {
    await list.try(`--resources ${resourcesFile}`, () => `${configured().length} resources`)
  }
  await list.try('--prefix, --etcd-for, --exclude, --cache-only and --never-cache', () => {
    const prefix = valueOf(values, prefixOption)
    const plan = etcdPlanOf(values, { schema: schema(), prefix, configured: configured() })
    const { others, excluded } = plan
    return `keys below ${prefix}; ${others.size} other etcds, ${excluded.length} resources excluded`
  })
  await list.try('--writable, --read-only and --simulate', async () => {
    const isTaken = isWritable(values)
    await simulationOf(values)
    await admissionOf(values)
    webhooksOf(values)
    return isTaken ? 'writes are done in etcd' : 'no writes of its own'
  })
  await list.try('--fault', async () => `${(await faultsOf(values))?.rules.length ?? 0} faults`)
  await list.try('--threads', () => {
    const count = threadsOf(values)
    return count === 1 ? 'one thread does everything' : `${count} threads serve clients`
  })
  await list.try('--memory-budget', () => budget(valueOf(values, memoryOption)))
  await list.try('--bookmark-interval', () => `${valueOf(values, bookmarkIntervalOption)} s`)
  await list.try('--http2-ping-interval and --http2-ping-timeout', () => {
    const timeout = valueOf(values, pingTimeoutOption)
    const interval = valueOf(values, pingIntervalOption)
    return interval === 0 ? 'no pings' : `${interval} s, answered within ${timeout} s`
  })
  await list.try('--shutdown-delay', () => `${valueOf(values, shutdownDelayOption)} s`)
  await list.try('--upstream and its options', () => {
    const connection = upstreamConnection(values)
    if (connection === undefined) return 'no upstream'
    valueOf(values, compareOption)
    listedValuesOf(values, compatibleWithOption)
    return connection.urls.length === 1 ? 'one server' : `${connection.urls.length} servers`
  })
  await checkVariables(list)
}

/** The address of etcd's own API and its certificate. */
async function checkEtcdListen(list: CheckList, values: OptionValues): Promise<void> {
  const given = ['', '-cert', '-key', '-client-ca', '-allow'].some(
    part => values.text(`etcd-listen${part}`) !== undefined,
  )
  if (!given) return
  await list.try(`--etcd-listen ${values.text('etcd-listen') ?? ''}`.trim(), async () => {
    const { address, tlsFiles } = etcdListenOf(values)!
    if (tlsFiles !== undefined) await readTls(tlsFiles)
    return tryAddress(addressIn(`http://${address}`)!, 'etcd-listen')
  })
}

/** Variables that look like ours, but that no option has. Kubernetes sets some for each Service
 *  whose name begins with ours, as `watchglass-etcd`. */
async function checkVariables(list: CheckList): Promise<void> {
  const known = new Set(
    Object.values(commands).flatMap(({ options }) => options.map(option => variableOf(option))),
  )
  for (const name of Object.keys(process.env)) {
    const isOfService = /^WATCHGLASS_(?:.+_)?(?:SERVICE_(?:HOST|PORT)|PORT)(?:_|$)/.test(name)
    if (!name.startsWith('WATCHGLASS_') || isOfService || known.has(name)) continue
    await list.try(name, () => ({ warning: 'no option has this variable' }))
  }
}

/** Files that options name: they can be read, and are what they should be. */
export async function checkFiles(list: CheckList, values: OptionValues): Promise<void> {
  await list.try('--tls-cert, --tls-key and --client-ca', async () => {
    const files = tlsFilesOf(values)
    if (files === undefined) return 'not given'
    await readTls(files)
    return 'a certificate and its key'
  })
  await list.try('--etcd-cacert, --etcd-cert and --etcd-key', () =>
    etcdConnection(values).tls === undefined ? 'not given' : 'certificates and key',
  )
  await list.try('authentication options', () => {
    if (values.text('listen') === 'none') return 'nothing is served'
    if (rbacPlanOf(values) !== undefined) return 'consistent'
    return authPlanOf(values, valueOf(values, listenOption).host) === undefined
      ? 'off'
      : 'consistent'
  })
  const keyFile = values.text('continue-key-file')
  if (keyFile !== undefined) {
    await list.try(`--continue-key-file ${keyFile}`, () => {
      readTokenEncryption(keyFile)
      return 'keys'
    })
  }
  if (values.text('otlp-endpoint') !== undefined) {
    await list.try('--otlp-endpoint', () => endpointOf(values)?.href ?? '')
  }
  if (values.text('checkpoint') !== undefined) await list.try('--checkpoint', () => saved(values))
  const auditLog = values.text('audit-log')
  if (auditLog !== undefined && auditLog !== '-') {
    await list.try(`--audit-log ${auditLog}`, () => writable(auditLog))
  }
  for (const { option, path } of certificateFilesOf(values)) {
    await list.try(`--${option} ${path}`, () => dateOf(option, path))
  }
}

/** The contents of the checkpoint, which are read whole: whether etcd has the same is seen at a
 *  start. */
async function saved(values: OptionValues): Promise<string> {
  const { revision, clusterId, entries } = await checkpointOf(values)!.read(unlimited)
  return `${entries.size} objects of etcd cluster ${clusterId} at revision ${revision}`
}

const unlimited = new AbortController().signal

async function dateOf(option: string, path: string): Promise<Finding> {
  await access(path, constants.R_OK)
  const endsMs = (await new CertificateDates([{ option, path }]).read()).get(option)
  if (endsMs === undefined) throw invalid('the file has no certificate')
  const days = Math.floor((endsMs - systemClock.wallMs()) / 86_400_000)
  const date = new Date(endsMs).toISOString().slice(0, 10)
  if (days < 0) throw invalid(`it ended on ${date}`)
  return days < soonDays ? { warning: `it ends on ${date}, in ${days} days` } : `ends on ${date}`
}

const soonDays = 14

/** The file can be appended to, or made. */
async function writable(path: string): Promise<string> {
  try {
    await access(path, constants.W_OK)
    return 'can be appended to'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    await access(dirname(path), constants.W_OK)
    return 'will be created'
  }
}

function budget(bytes: number | undefined): Finding {
  if (bytes === undefined) return 'none'
  const share = bytes / totalmem()
  const text = `${Math.round(share * 100)} % of this machine's memory`
  return share > 0.9 ? { warning: `${text}: the process needs more than its budget` } : text
}

async function tryAddress(
  address: Pick<ListenAddress, 'host' | 'port'>,
  option: string,
): Promise<string> {
  await requireFree(address, option)
  return 'free'
}
