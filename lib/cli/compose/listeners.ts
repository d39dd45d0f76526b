/** The listeners of a service: that of clients, that of operators, and that of etcd's own API. */

import { type Clock, isLoopback, type Key, keyFromText, type Logger } from '@watchglass/base'
import {
  createAdminHandler,
  type FaultSwitch,
  type Followers,
  type Handler,
  type Health,
  type Listen,
  type LiveRegistry,
  type Metrics,
  type MetricsText,
  type OnFault,
  OpenFiles,
  openFilesMax,
  type OwnMirrors,
  type PageSource,
  readTls,
  Server,
  withHostGuard,
} from '@watchglass/cache'
import type { Schema } from '@watchglass/codec'
import type { ApiReplicaOptions, EtcdReplica } from '@watchglass/etcd-server'
import { versionBody } from '@watchglass/kube'
import type { UpstreamProxy } from '@watchglass/proxy'
import type { ClientPort, OperatingOptions, ServiceOptions } from './service-options.ts'
import { load } from './loaded-code.ts'

/** The time limit of requests and calls under way when a process is asked to stop. */
export const drainMaxMs = 10_000

export async function listenForClients(
  { listening, attached: { upstream, writes } = {}, logger }: ServiceOptions,
  { clock, onFault }: { readonly clock: Clock; readonly onFault: OnFault },
): Promise<ClientPort> {
  const { listen, tls: files, guardedHosts, pings } = listening
  const tls = files === undefined ? undefined : await readTls(files)
  const server = await Server.listen({
    listen,
    handler: request => request.abort(),
    onFault,
    tls,
    clock,
    pings,
    openFiles: new OpenFiles({ max: openFilesMax(), callers: 'clients', clock, logger }),
    // An upstream takes all of them, and so do simulated pods; watches are answered over
    // WebSockets.
    takesUpgrades:
      upstream !== undefined || writes?.simulation !== undefined ? 'all' : 'WebSockets',
  })
  return {
    server,
    tls,
    serve(handler) {
      server.handler = guardedHosts === undefined ? handler : withHostGuard(handler, guardedHosts)
    },
  }
}

export interface AdminParts {
  readonly schema: Schema
  readonly health: Health
  readonly metrics: MetricsText
  readonly upstreamProxy: UpstreamProxy | undefined
  readonly faults?: FaultSwitch | undefined
  /** Undefined where there is no API to show. */
  readonly page?: PageSource | undefined
  readonly onFault: OnFault
}

interface AdminListenerParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly onFault: OnFault
}

/** The handler of our own paths, where the main listener has the upstream's. */
export function adminHandlerOf(
  { levelledLogger }: OperatingOptions,
  { schema, upstreamProxy, ...parts }: AdminParts,
): Handler {
  return createAdminHandler({
    ...parts,
    version: versionBody(schema),
    readSwitch: upstreamProxy?.readSwitch,
    resources: upstreamProxy && (() => upstreamProxy.report.all()),
    log: levelledLogger,
  })
}

/** The listener of operators; undefined where there is to be none. */
export function listenForAdmin(
  listen: Listen | undefined,
  handler: Handler,
  { clock, logger, onFault }: AdminListenerParts,
): Promise<Server> | undefined {
  if (listen === undefined) return undefined
  // Of loopback addresses a web page in a browser here could read and switch as well.
  const guarded = isLoopback(listen.host) ? withHostGuard(handler) : handler
  const openFiles = new OpenFiles({ max: openFilesMax(), callers: 'operators', clock, logger })
  return Server.listen({ listen, handler: guarded, clock, onFault, openFiles })
}

/** etcd's own API, whatever is mirrored. */
export type EtcdApi = Pick<EtcdReplica, 'stop'> & Partial<Pick<EtcdReplica, 'start'>>

export interface EtcdApiParts {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly ownMirrors: OwnMirrors | undefined
  readonly followers: Followers
  readonly registry: LiveRegistry
}

/** etcd's own API beside ours; undefined where it is not asked for. */
export async function openEtcdApi(
  { attached: { replica, apiReplica } = {}, etcd: { client }, served, logger }: ServiceOptions,
  { clock, metrics, ownMirrors, followers, registry }: EtcdApiParts,
): Promise<EtcdApi | undefined> {
  const common = { clock, metrics, logger }
  if (replica !== undefined && client !== undefined) {
    const { startEtcdReplica } = await load.etcdReplica()
    return startEtcdReplica({ ...replica, ...common, client })
  }
  if (apiReplica === undefined || ownMirrors === undefined) return undefined
  const { startApiReplica } = await load.apiReplica()
  const keyspaces = keyspacesOf(registry, served?.isKept)
  return startApiReplica({ ...apiReplica, ...common, mirrors: ownMirrors, followers, keyspaces })
}

/** The keyspaces of what is kept, found anew when the resources have changed. */
function keyspacesOf(
  registry: LiveRegistry,
  isKept: (keyspace: Key) => boolean = () => true,
): ApiReplicaOptions['keyspaces'] {
  let known: unknown = undefined
  let keyspaces: ReturnType<ApiReplicaOptions['keyspaces']> = []
  return () => {
    const { registry: now } = registry.state
    if (known === now) return keyspaces
    known = now
    const all = now.keyspaces().map(({ prefix, resources: [first] }) => ({
      name: prefix,
      resource: keyFromText(first?.storage?.prefix ?? ''),
    }))
    keyspaces = all.filter(({ resource }) => isKept(resource))
    return keyspaces
  }
}
