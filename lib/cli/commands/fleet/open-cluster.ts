/** Opens one cluster of a fleet: the service that `serve` would make of its options, with its own
 *  connections, authentication and files, on a part of the fleet's port. */

import { isLoopback, type Logger } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import { type OpenClient, openEtcdClient } from '../etcd-client.ts'
import { etcdConnection } from '../plan/etcd-connection.ts'
import { type ServePlan, startPlan } from '../plan/serve-plan.ts'
import { continueTokensOf } from '../plan/token-encryption.ts'
import { KubeService } from '../../compose/kube-service.ts'
import { isUpstreamMirrored } from '../../options/etcd.ts'
import { listenOption } from '../../options/listening.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { valueOf } from '../../options/rules.ts'
import { accessOf, type NoteEnd } from './cluster-access.ts'
import { ClusterPort } from './cluster-port.ts'
import { hasUpstream } from './cluster-settings.ts'
import type { SharedLimits } from './shared-limits.ts'

export interface OpenCluster {
  readonly service: Pick<
    KubeService,
    | 'adminHandler'
    | 'entries'
    | 'isReady'
    | 'kept'
    | 'memoryBytes'
    | 'problem'
    | 'reads'
    | 'ready'
    | 'refused'
  >
  /** Takes its requests. */
  readonly port: ClusterPort
  /** Reads of what is not mirrored yet pass to an upstream. */
  readonly canPass: boolean
  /** The authorities of its client certificates (PEM). */
  readonly authorities: () => readonly string[]
  stop(): Promise<void>
}

export interface OpeningParts {
  readonly name: string
  readonly values: OptionValues
  /** The port of the fleet. */
  readonly port: number
  /** The domain of the fleet's clusters. */
  readonly domain: string | undefined
  readonly limits: SharedLimits
  readonly logger: Logger
}

/** Fails with what is wrong with the options, or with the files that they name. What was opened is
 *  closed then, and also if the signal is aborted meanwhile. */
export async function openCluster(parts: OpeningParts, signal: AbortSignal): Promise<OpenCluster> {
  const ends: (() => Promise<unknown> | void)[] = []
  const stop = async (): Promise<void> => {
    // What was opened last goes first; each end is tried.
    const results: PromiseSettledResult<unknown>[] = []
    for (const end of ends.splice(0).reverse()) {
      results.push(...(await Promise.allSettled([Promise.resolve().then(end)])))
    }
    const failed = results.find(result => result.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
  try {
    const open = await openWith(parts, end => {
      ends.push(end)
      signal.throwIfAborted()
    })
    return { ...open, stop }
  } catch (error) {
    await stop().catch(() => {})
    throw error
  }
}

async function openWith(parts: OpeningParts, onEnd: NoteEnd): Promise<Omit<OpenCluster, 'stop'>> {
  const { name, logger, port: fleetPort, domain } = parts
  const access = await accessOf(parts, onEnd)
  const values =
    access === undefined ? parts.values : parts.values.with('upstream', [access.url.origin])
  const plan = await startPlan({ values, logger, access })
  onEnd(() => plan.stop())
  const etcd = await etcdClientsOf(plan, values, { logger, onEnd })
  const { guardedHosts, tls } = plan.options.listening
  const ownHost = domain === undefined ? [] : [`${name}.${domain}`]
  const port = new ClusterPort({
    port: fleetPort,
    guardedHosts: guardedHosts && [...guardedHosts, ...ownHost],
  })
  const { listen } = plan.options.listening
  // A start takes some milliseconds of the processor: other clusters go on between two of them.
  await systemClock.yield()
  const service = await KubeService.start({
    ...plan.options,
    etcd: { ...etcd, prefix: plan.prefix },
    listening: {
      ...plan.options.listening,
      tls: undefined,
      address: `${listen.host}:${fleetPort}`,
      port,
    },
    served: { ...plan.options.served, tokenEncryption: continueTokensOf(values, name) },
    operating: { ...plan.options.operating, adminListen: undefined, stopDelayMs: 0 },
    cluster: {
      name,
      createTally: parts.limits.talliesOf(name),
      pace: parts.limits.pace,
    },
    logger,
  })
  onEnd(() => service.stop())
  return {
    service,
    port,
    canPass: plan.options.attached?.upstream !== undefined,
    authorities: () => tls?.authorities?.() ?? [],
  }
}

interface ClientParts {
  readonly logger: Logger
  readonly onEnd: NoteEnd
}

/** Clients of the mirrored etcds; none where the upstream is mirrored. */
async function etcdClientsOf(
  { etcd: { others } }: ServePlan,
  values: OptionValues,
  { logger, onEnd }: ClientParts,
): Promise<{
  client: OpenClient['client'] | undefined
  others: { client: OpenClient['client']; prefixes: readonly string[] }[]
}> {
  const opened = async (endpoints?: readonly string[]): Promise<OpenClient['client']> => {
    const etcd = await openEtcdClient(etcdConnection(values, endpoints), { values, logger })
    onEnd(() => etcd.close())
    return etcd.client
  }
  if (isUpstreamMirrored.holds(values)) return { client: undefined, others: [] }
  const client = await opened()
  const more: { client: OpenClient['client']; prefixes: readonly string[] }[] = []
  for (const [endpoints, prefixes] of others) {
    more.push({ client: await opened([endpoints]), prefixes })
  }
  return { client, others: more }
}

/** True where nobody is asked who they are. */
export function isOpenToAll(values: OptionValues): boolean {
  const auth = values.text('auth')
  if (auth !== undefined) return auth === 'none'
  return !hasUpstream(values) && isLoopback(valueOf(values, listenOption).host)
}
