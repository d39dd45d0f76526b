/** Only some namespaces are mirrored (`--namespaces`), by an account that has a Role in each, and
 *  no rights in the cluster. */

import t, { type Test } from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { ask, type HttpAnswer } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import { json, type SeenRequest } from '../support/upstream/answers.ts'
import { configMap, originOf, startFront } from '../support/upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../support/upstream/upstream.ts'

const ours = 'Bearer ours'
const admin = { authorization: 'Bearer admin' }
const mine = ['team-a', 'team-b']

function mapsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`
}

function isOurs({ headers }: SeenRequest): boolean {
  return headers.authorization === ours
}

/** Discovery and the namespaces of a Role. */
function mayAsk({ url }: SeenRequest): boolean {
  const isOfApi = /^\/apis?\/.+/.test(url) && !/^\/apis?\/[^/]+(?:\/[^/]+)?\/?$/.test(url)
  const [, namespace] = /\/namespaces\/([^/]+)\/configmaps/.exec(url) ?? []
  return !isOfApi || (namespace !== undefined && mine.includes(namespace))
}

interface Restricted {
  readonly upstream: TestUpstream
  readonly service: KubeService
  readonly direct: (path: string, accept?: string) => Promise<HttpAnswer>
  readonly get: (path: string, accept?: string) => Promise<HttpAnswer>
}

async function startRestricted(t: Test): Promise<Restricted> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const upstream = await TestUpstream.start({ client })
  await upstreamReady(upstream)
  for (const namespace of [...mine, 'other']) {
    for (let i = 0; i < 3; i++) {
      await upstream.create(mapsIn(namespace), configMap(`c${i}`, `of ${namespace}`))
    }
  }
  upstream.before = request =>
    isOurs(request) && !mayAsk(request) ? json({ code: 403 }, 403) : undefined
  const service = await startFront(undefined, upstream, {
    token: () => Promise.resolve('ours'),
    service: { source: { isWantedAtStart: () => false }, namespaces: mine },
  })
  t.teardown(async () => {
    await service.stop()
    await upstream.stop()
    engine.close()
  })
  const askAt = (port: number) => (path: string, accept?: string) =>
    ask(port, { path, headers: accept === undefined ? admin : { ...admin, accept } })
  return { upstream, service, direct: askAt(upstream.port), get: askAt(service.port) }
}

async function untilMirrored({ get }: Restricted, path: string): Promise<void> {
  while (!originOf(await get(path)).startsWith('mirror')) await moment()
}

t.test('namespaces of a Role are answered from memory, in the bytes of the upstream', async t => {
  const restricted = await startRestricted(t)
  const { get, direct, upstream } = restricted
  const anyOf = (namespace: string): string => `${mapsIn(namespace)}?resourceVersion=0`
  for (const namespace of mine) await untilMirrored(restricted, anyOf(namespace))
  const revision = await newestRevision(restricted)
  const paths = mine.flatMap(namespace => [
    anyOf(namespace),
    `${anyOf(namespace)}&fieldSelector=${encodeURIComponent(`metadata.namespace=${namespace}`)}`,
    `${anyOf(namespace)}&fieldSelector=${encodeURIComponent('metadata.namespace!=team-a')}`,
    `${anyOf(namespace)}&fieldSelector=metadata.name%3Dc1`,
    `${mapsIn(namespace)}?resourceVersion=${revision}&resourceVersionMatch=Exact&limit=2`,
    `${mapsIn(namespace)}/c2?resourceVersion=0`,
    `${mapsIn(namespace)}?watch=1&resourceVersion=${revision}&timeoutSeconds=1`,
  ])
  for (const path of paths) {
    const [here, there] = [await get(path), await direct(path)]
    t.match(originOf(here), /^mirror/, path)
    t.equal(here.body.toString(), there.body.toString(), path)
  }
  const refused = upstream.seen.filter(
    one => isOurs(one) && !mayAsk(one) && /configmaps/.test(one.url),
  )
  t.strictSame(refused, [], 'nothing is asked that the Role does not allow')
})

t.test('other namespaces, and all of them, are left to the upstream', async t => {
  const restricted = await startRestricted(t)
  const { get } = restricted
  await untilMirrored(restricted, `${mapsIn('team-a')}?resourceVersion=0`)
  for (const path of [mapsIn('other'), '/api/v1/configmaps', `${mapsIn('other')}/c1`]) {
    const answer = await get(`${path}?resourceVersion=0`)
    t.equal(originOf(answer), 'pass; reason=excluded', path)
    t.equal(answer.status, 200)
  }
  const lists = await get('/api/v1/configmaps')
  const { items } = JSON.parse(lists.body.toString()) as { readonly items: readonly unknown[] }
  t.equal(items.length, 9)
})

t.test('what is written in one namespace is told there, and counted apart', async t => {
  const restricted = await startRestricted(t)
  const { upstream, get, service } = restricted
  for (const namespace of mine) {
    await untilMirrored(restricted, `${mapsIn(namespace)}?resourceVersion=0`)
  }
  const before = await newestRevision(restricted)
  await upstream.create(mapsIn('team-b'), configMap('new', 'x'))
  const watch = await get(`${mapsIn('team-b')}?watch=1&resourceVersion=${before}&timeoutSeconds=1`)
  t.match(watch.body.toString(), /^\{"type":"ADDED","object":\{"kind":"ConfigMap".*"name":"new"/)
  t.notMatch(
    (await get(`${mapsIn('team-a')}?watch=1&resourceVersion=${before}&timeoutSeconds=1`)).body,
    /ADDED/,
  )
  t.strictSame(
    [...service.entries()].filter(([name]) => name.includes('configmaps')),
    [
      ['/registry/configmaps/team-a/', 3],
      ['/registry/configmaps/team-b/', 4],
    ],
  )
})

async function newestRevision({ direct }: Restricted): Promise<string> {
  const { body } = await direct('/api/v1/configmaps?limit=1')
  const { metadata } = JSON.parse(body.toString()) as {
    readonly metadata: { readonly resourceVersion: string }
  }
  return metadata.resourceVersion
}
