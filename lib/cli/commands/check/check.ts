/** `watchglass check`: tries what `serve` would use with the same options, and serves nothing. */

import { CacheError, type Logger, sleep } from '@watchglass/base'
import { startGuarded } from '../plan/access.ts'
import { dataFolderOf } from '../plan/data-folder.ts'
import { isEmbedded } from '../plan/etcd-connection.ts'
import { listed, type OptionValues } from '../../options/option-values.ts'
import { systemClock } from '@watchglass/cache'
import type { CommandContext } from '../context.ts'
import { prefixOption } from '../../options/cluster.ts'
import { isUpstreamMirrored } from '../../options/etcd.ts'
import { listenOption } from '../../options/listening.ts'
import { valueOf } from '../../options/rules.ts'
import { checkEtcd, type EtcdFindings } from './check-etcd.ts'
import { CheckList } from './check-list.ts'
import { checkFiles, checkOptions } from './check-options.ts'
import { checkUpstream } from './check-upstream.ts'

export async function check({ values, signal }: CommandContext): Promise<number> {
  const list = new CheckList(line => process.stdout.write(`${line}\n`))
  if (values.text('clusters') !== undefined) {
    await (await import('./check-clusters.ts')).checkClusters(list, values, signal)
    list.end()
    return list.hasFailed ? 1 : 0
  }
  await checkOptions(list, values)
  await checkFiles(list, values)
  let etcd: EtcdFindings | undefined
  if (isUpstreamMirrored.holds(values)) {
    await list.try('--etcd', () => 'none: the upstream itself is mirrored')
  } else if (listed(values, 'etcd').includes('embedded')) {
    await list.try('--etcd embedded', () => {
      isEmbedded(values)
      const folder = dataFolderOf(values)?.folder
      return {
        warning: `${folder === undefined ? 'in memory only' : `in ${folder}`}: not for production`,
      }
    })
  } else {
    const mayWrite = values.switch('try-writes')
    const options = { prefix: validPrefix(values), mayWrite, signal }
    etcd = await checkEtcd(list, values, options)
  }
  const maxMs = etcd?.isAnswering === false ? hopelessMaxMs : answerMaxMs
  const isEmpty = etcd !== undefined && etcd.isAnswering && !etcd.hasNamespaces
  const emptyPrefix = isEmpty ? validPrefix(values) : undefined
  for (const url of listed(values, 'upstream')) {
    await checkUpstream(list, values, { url, maxMs, emptyPrefix, signal })
  }
  // Who may use etcd's API is said by its own options.
  if (values.text('listen') !== 'none') await checkAccess(list, values, maxMs)
  list.end()
  return list.hasFailed ? 1 : 0
}

/** The prefix, or the usual one if the option is wrong, which has been said already. */
function validPrefix(values: OptionValues): string {
  try {
    return valueOf(values, prefixOption)
  } catch {
    return '/registry'
  }
}

/** The time limit of an answer of the upstream, also for reading the trusted authorities. */
const answerMaxMs = 10_000
/** The limit where etcd does not answer: an API server that needs it hardly will. */
const hopelessMaxMs = 3_000

/** Checks access control, with the authorities that an API server publishes. */
async function checkAccess(list: CheckList, values: OptionValues, maxMs: number): Promise<void> {
  await list.try(`--auth ${values.text('auth') ?? '(as usual)'}`, async () => {
    const { host } = valueOf(values, listenOption)
    const said: string[] = []
    const keep = (message: string): void => void said.push(message)
    const logger: Logger = { debug() {}, info() {}, warn: keep, error: keep }
    const known = new AbortController()
    const starting = startGuarded(values, host, logger)
    const guarded = await Promise.race([starting, late(maxMs, known.signal)]).finally(() =>
      known.abort(),
    )
    await guarded.stop()
    const [first] = said
    if (first !== undefined) return { warning: first }
    if (guarded.rbac !== undefined) return 'rbac: the roles and bindings in etcd decide'
    return guarded.authorization === undefined
      ? 'off: anyone who can connect can read everything'
      : `${guarded.authorization.mode}: an API server decides for each caller`
  })
}

/** Fails after a while, unless the signal is aborted before. */
async function late(maxMs: number, signal: AbortSignal): Promise<never> {
  await sleep(systemClock, maxMs, signal)
  throw new CacheError('source_failed', `no answer after ${maxMs / 1000} s`)
}
