/** A service in front of the upstream of tests, both over one embedded etcd. */

import { silentLogger } from '../silent-logger.ts'
import type { Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import type { AuthorizationOptions } from '../../../lib/cache/http/auth/authorization.ts'
import { Callers, type CallersOptions } from '../../../lib/cache/http/auth/callers.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import {
  defaultUpstreamTimeouts,
  UpstreamServer,
  type UpstreamTimeouts,
  type UpstreamTls,
} from '../../../lib/proxy/upstream/server.ts'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask, type HttpAnswer } from '../http/served.ts'
import type { PaceLimits } from '../../../lib/proxy/evidence/pace.ts'
import { TestUpstream, type UpstreamOptions, upstreamReady } from './upstream.ts'
import { moment } from '../http/moment.ts'
import { serviceOptions, type TestOptions } from '../http/service-options.ts'

export interface ProxiedOptions {
  readonly upstream?: Partial<UpstreamOptions> | undefined
  readonly service?: TestOptions | undefined
  readonly timeouts?: Partial<UpstreamTimeouts> | undefined
  readonly tls?: UpstreamTls | undefined
  /** Other servers of the upstream, before the one that runs. */
  readonly otherUrls?: readonly string[] | undefined
  /** Puts what is there from the beginning. */
  readonly fill?: ((client: Client) => Promise<void>) | undefined
  /** Objects that are there from the beginning: bodies of POST by path. */
  readonly objects?: readonly (readonly [path: string, object: unknown])[] | undefined
  readonly discoversResources?: boolean | undefined
  /** Slower than tests are otherwise. */
  readonly pace?: Partial<PaceLimits> | undefined
  readonly compareShare?: number | undefined
  readonly compatibleMinors?: ReadonlySet<number> | undefined
  readonly token?: (() => Promise<string>) | undefined
  /** The service's view of etcd, made from what there is to see. */
  readonly seenOf?: ((client: Client) => Client) | undefined
  /** The service authorizes what it answers, by what the upstream says. */
  readonly access?: FrontAccess | undefined
}

/** The options of a service that authorizes. */
export interface FrontAccess {
  readonly mode: AuthorizationOptions['mode']
  /** Who callers are; by their tokens if it is left out. */
  readonly callers?: Partial<CallersOptions> | undefined
  /** The time that a yes is kept. */
  readonly allowMs?: number | undefined
}

export interface Proxied {
  readonly client: Client
  readonly upstream: TestUpstream
  readonly service: KubeService
  readonly port: number
  /** Asks the service. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<HttpAnswer>
}

/** Starts both; they end with the test. */
export async function startProxied(t: Test, options: ProxiedOptions = {}): Promise<Proxied> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const network = new DirectNetwork(scheduler)
  const createClient = (): Client => new EngineClient({ engine, network })
  await options.fill?.(createClient())
  const upstream = await TestUpstream.start({ client: createClient(), ...options.upstream })
  await upstreamReady(upstream)
  for (const [path, object] of options.objects ?? []) await upstream.create(path, object)
  if (options.upstream?.isDown === true) await upstream.down()
  const { seenOf = client => client } = options
  const service = await startFront(seenOf(createClient()), upstream, options)
  t.teardown(async () => {
    await service.stop()
    await upstream.stop()
    engine.close()
  })
  const { port } = service
  const get: Proxied['get'] = (path, headers) => ask(port, { path, headers })
  return { client: createClient(), upstream, service, port, get }
}

/** The resources that are kept: those that most tests are about, and all that is defined or
 *  aggregated. Of everything else, a service would ask the upstream at every start whether it is
 *  stored where it reads it. */
const kept =
  /\/(?:configmaps|pods|podtemplates|secrets|namespaces|deployments|events|leases|[^/]+\..*)\/$/

/** A service in front of an upstream that runs already, which is mirrored where there is no client
 *  of etcd. Of built-in resources it mirrors those that
 *  most tests are about; all with `service: { isKept: undefined }`. */
export function startFront(
  client: Client | undefined,
  upstream: Pick<TestUpstream, 'url'>,
  options: ProxiedOptions = {},
): Promise<KubeService> {
  const { service, timeouts, tls, otherUrls = [], token, access, compatibleMinors } = options
  const all = { ...defaultUpstreamTimeouts, ...timeouts }
  const urls = [...otherUrls, upstream.url]
  const servers = new BalancedUpstream({
    servers: urls.map(url => new UpstreamServer({ url: new URL(url), tls, timeouts: all })),
    timeouts: all,
    clock: systemClock,
    logger: silentLogger,
    credentials:
      token &&
      (async () => ({
        headers: { authorization: `Bearer ${await token()}` },
        refused() {},
      })),
  })
  const callers = access && new Callers({ ...tokensOnly, ...access.callers })
  return KubeService.start(
    serviceOptions({
      client,
      logger: silentLogger,
      isKept: prefix => kept.test(prefix),
      upstream: {
        servers,
        isSource: client === undefined,
        passed: callers && (request => callers.passed(request)),
        compatibleMinors,
        compareShare: options.compareShare,
        evidencePace: { perSecond: 5_000, bytesPerSecond: 1e9, ...options.pace },
        discoversResources: options.discoversResources,
      },
      authorization: access &&
        callers && {
          mode: access.mode,
          canPass: true,
          server: servers,
          callers,
          allowMs: access.allowMs,
        },
      ...service,
    }),
  )
}

const tokensOnly: CallersOptions = {
  clock: systemClock,
  userAuthorities: () => [],
  frontProxies: () => undefined,
  passIdentity: undefined,
}

/** Creates an object, and waits for nothing. */
export async function created(port: number, path: string, object: unknown): Promise<HttpAnswer> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(object)
  const answer = await ask(port, { method: 'POST', path, headers, body })
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.body.toString()}`)
  return answer
}

/** A ConfigMap with one value. */
export function configMap(name: string, value: string): unknown {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } }
}

/** Resolves when a resource is answered from the mirror. */
export async function answeredHere(
  { service }: Pick<Proxied, 'service'>,
  group: string,
  version: string,
  resource: string,
): Promise<void> {
  for (;;) {
    const found = service.registry.state.registry.find(group, version, resource)
    const isAnswered = found !== undefined && service.knowledge?.objection(found) === undefined
    if (isAnswered && service.evidence?.isSettled(found) === true) return
    await moment()
  }
}

/** Who answered, as the header says. */
export function originOf({ headers }: HttpAnswer): string {
  return String(headers['x-watchglass']).replace(/revision=\d+/, 'revision=N')
}
