/** Checks what `serve --clusters` would use: the options of the process, and of each cluster its
 *  settings, its files, and that its server answers. A line a cluster. */

import { silentLogger, sleep } from '@watchglass/base'
import { readTls, systemClock } from '@watchglass/cache'
import { GrpcClient } from '@watchglass/etcd'
import { KubeconfigAccess, nodeSystem } from '@watchglass/kubeconfig'
import type { UpstreamOptions } from '@watchglass/proxy'
import { type ClusterSettings, valuesOfCluster } from '../fleet/cluster-settings.ts'
import { isOpenToAll } from '../fleet/open-cluster.ts'
import type { ReadSettings } from '../fleet/settings-reader.ts'
import { invalid } from '../../options/invalid.ts'
import { isUpstreamMirrored } from '../../options/etcd.ts'
import { listenOption } from '../../options/listening.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { valueOf } from '../../options/rules.ts'
import { commands } from '../commands.ts'
import { startGuarded } from '../plan/access.ts'
import { etcdConnection } from '../plan/etcd-connection.ts'
import { tlsFilesOf } from '../plan/listen.ts'
import { upstreamFrom } from '../plan/upstream.ts'
import { checkFleetOptions, settingsReaderOf } from '../serve-clusters.ts'
import type { CheckList, Finding } from './check-list.ts'
import { documentIn, UpstreamQuestions } from './upstream/upstream-questions.ts'

/** Clusters that are asked at the same time. */
const atOnce = 8
/** The time limit of a cluster's answer. */
const answerMaxMs = 10_000

export async function checkClusters(
  list: CheckList,
  values: OptionValues,
  signal: AbortSignal,
): Promise<void> {
  await list.try('options of the process', async () => {
    checkFleetOptions(values)
    const files = tlsFilesOf(values)
    if (files !== undefined) await readTls(files)
    return files === undefined ? 'without TLS' : 'with TLS'
  })
  let read: ReadSettings = { clusters: [], problems: [] }
  await list.try(`--clusters ${values.text('clusters')}`, async () => {
    read = await settingsReaderOf(values).read()
    return `${read.clusters.length} clusters`
  })
  for (const { name, text } of read.problems) {
    await list.try(`cluster ${name ?? ''}`.trim(), () => {
      throw invalid(text)
    })
  }
  const { clusters } = read
  for (let from = 0; from < clusters.length; from += atOnce) {
    // Asked together, and said in their order.
    const asked = clusters.slice(from, from + atOnce).map(settings => {
      const finding = findingOf(settings, values, signal)
      finding.catch(() => {})
      return { name: settings.name, finding }
    })
    for (const { name, finding } of asked) await list.try(`cluster ${name}`, () => finding)
  }
}

async function findingOf(
  settings: ClusterSettings,
  process: OptionValues,
  signal: AbortSignal,
): Promise<Finding> {
  const values = valuesOfCluster(settings, process, commands.serve.options)
  const over = new AbortController()
  const ended = AbortSignal.any([signal, over.signal])
  const late = sleep(systemClock, answerMaxMs, ended).then((): never => {
    throw invalid(`no answer after ${answerMaxMs / 1000} s`)
  })
  try {
    return await Promise.race([askedOf(values, ended), late])
  } finally {
    late.catch(() => {})
    over.abort()
  }
}

async function askedOf(values: OptionValues, signal: AbortSignal): Promise<Finding> {
  const kubeconfig = values.text('kubeconfig')
  const access =
    kubeconfig === undefined
      ? undefined
      : await KubeconfigAccess.open({
          kubeconfig,
          context: values.text('context'),
          system: nodeSystem(),
          clock: systemClock,
          logger: silentLogger,
        })
  try {
    const own = access === undefined ? values : values.with('upstream', [access.url.origin])
    const found: string[] = []
    if (!isUpstreamMirrored.holds(own)) found.push(await aboutEtcd(own, signal))
    const use = { isFrontProxy: false, user: access }
    const upstream = await upstreamFrom(own, silentLogger, use)
    if (upstream !== undefined) found.push(await aboutUpstream(upstream, signal))
    const { host } = valueOf(own, listenOption)
    const guarded = await startGuarded(own, host, silentLogger, access)
    await guarded.stop()
    const said = found.join(', ')
    return isOpenToAll(values)
      ? { warning: `${said}; authentication is off: anyone who can connect can read everything` }
      : said
  } finally {
    access?.stop()
  }
}

async function aboutEtcd(values: OptionValues, signal: AbortSignal): Promise<string> {
  const client = new GrpcClient(etcdConnection(values))
  try {
    const statuses = await client.status(signal)
    for (const status of statuses) if ('failure' in status) throw status.failure
    return `etcd with ${statuses.length} ${statuses.length === 1 ? 'member' : 'members'}`
  } finally {
    await client.close()
  }
}

async function aboutUpstream({ servers }: UpstreamOptions, signal: AbortSignal): Promise<string> {
  try {
    const answer = await new UpstreamQuestions(servers, { maxMs: answerMaxMs, signal }).get(
      '/version',
    )
    const { gitVersion = '' } = documentIn(answer) as { readonly gitVersion?: string }
    return `Kubernetes ${gitVersion}`
  } finally {
    await servers.stop()
  }
}
