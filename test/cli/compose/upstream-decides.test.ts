/** The upstream decides what exists: whatever it has switched off, keeps elsewhere or is of another
 *  version, no list is empty or wrong. */

import t, { type Test } from 'tap'
import { type Before, type DirectAnswer, json } from '../../support/upstream/answers.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import type { OtherEtcd } from '../../../lib/cache/mirror/create-mirrors.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask } from '../../support/http/served.ts'
import {
  answeredHere,
  configMap,
  created,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'
import { moment } from '../../support/http/moment.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
const events = '/api/v1/namespaces/default/events'
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'l' },
  spec: { holderIdentity: 'h' },
}
const event = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'e' },
  involvedObject: {},
  reason: 'r',
}
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const objects = [[maps, configMap('a', '1')]] as const

/** Resolves when every resource was compared with the upstream that can be. */
async function compared({ service }: Proxied, withoutAnswer = 0): Promise<void> {
  const { knowledge } = service
  while (knowledge?.isKnown !== true || knowledge.storageStates.unknown > withoutAnswer) {
    await moment()
  }
}

async function itemsOf(proxied: Proxied, path: string): Promise<number> {
  const { body } = await proxied.get(path)
  return (JSON.parse(body.toString()) as { items: unknown[] }).items.length
}

t.test('an API that is switched off is not there', async t => {
  const proxied = await startProxied(t, { objects: [...objects, [leases, lease]] })
  const { upstream, service, get } = proxied
  upstream.switchedOff = new Set(['coordination.k8s.io/v1'])
  await compared(proxied)
  await answeredHere(proxied, '', 'v1', 'configmaps')
  // What it listed before it was switched off may have been taken over at start.
  service.knowledge?.redefined()
  let answer = await get(leases)
  while (originOf(answer) !== 'pass; reason=not-listed') answer = await get(leases)
  t.equal(answer.status, 404, 'the upstream says so')
  upstream.switchedOff = new Set()
  service.knowledge?.redefined()
  await answeredHere(proxied, 'coordination.k8s.io', 'v1', 'leases')
  t.equal(await itemsOf(proxied, leases), 1)
})

t.test('an upstream with another prefix is never answered for', async t => {
  const proxied = await startProxied(t, {
    upstream: { service: { prefix: '/elsewhere' } },
    objects: [...objects, [leases, lease]],
  })
  const { client, get } = proxied
  // The mirror has objects of its own under the usual prefix.
  await client.txn({
    compares: [],
    success: [
      { type: 'put', key: keyFromText('/registry/configmaps/x/y'), value: Buffer.from('') },
    ],
    failure: [],
  })
  await compared(proxied)
  for (const path of [maps, leases, '/api/v1/pods']) {
    const answer = await get(path)
    t.equal(originOf(answer), 'pass; reason=unproven', path)
  }
  t.equal(await itemsOf(proxied, maps), 1)
  t.equal(proxied.service.knowledge?.storageStates.proven, 0)
})

function otherEtcd(t: Test): () => Client {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(2), scheduler })
  const network = new DirectNetwork(scheduler)
  t.teardown(() => engine.close())
  return () => new EngineClient({ engine, network })
}

t.test('events that are kept in another etcd pass, whether there are any or not', async t => {
  const elsewhere = otherEtcd(t)
  const others = [{ client: elsewhere(), prefixes: ['/registry/events/'] }]
  const proxied = await startProxied(t, { upstream: { service: { others } }, objects })
  const { upstream, get } = proxied
  await compared(proxied, 1)
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await get(maps)), 'mirror; revision=N', 'the rest is answered here')
  t.equal(
    originOf(await get(events)),
    'pass; reason=unproven',
    'both have none, which proves nothing',
  )
  const key = keyFromText('/registry/events/default/e')
  const stored = Buffer.from(JSON.stringify(event))
  await elsewhere().txn({
    compares: [],
    success: [{ type: 'put', key, value: stored }],
    failure: [],
  })
  for (let i = 0; i < 20; i++) {
    const answer = await get(events)
    t.equal(originOf(answer), 'pass; reason=unproven')
    await created(upstream.port, maps, configMap(`rises-${i}`, '1'))
    proxied.service.knowledge?.redefined()
  }
  t.ok(
    upstream.seen.some(({ url }) => url.startsWith('/api/v1/events?limit=1')),
    'they were compared',
  )
})

t.test('what both of us have in the same other etcd is answered here', async t => {
  const elsewhere = otherEtcd(t)
  const others = (): OtherEtcd[] => [{ client: elsewhere(), prefixes: ['/registry/leases/'] }]
  const key = keyFromText('/registry/leases/default/l')
  const metadata = { name: 'l', namespace: 'default' }
  const value = protobufFromJson(Buffer.from(JSON.stringify({ ...lease, metadata })))
  if (value instanceof NotExact) throw new Error(value.reason)
  const put = { type: 'put', key, value } as const
  await elsewhere().txn({ compares: [], success: [put], failure: [] })
  const proxied = await startProxied(t, {
    upstream: { service: { others: others() } },
    service: { others: others() },
    objects,
  })
  await answeredHere(proxied, 'coordination.k8s.io', 'v1', 'leases')
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(await itemsOf(proxied, leases), 1)
})

t.test(
  'a minor version without data: objects are answered once they were compared, all else passes',
  async t => {
    const other = await startProxied(t, { objects, upstream: { minor: '99' } })
    await answeredHere(other, '', 'v1', 'configmaps')
    t.equal(other.service.knowledge?.isVersionCovered, false)
    t.equal(originOf(await other.get(maps)), 'mirror; revision=N')
    t.equal(originOf(await other.get(`${maps}/nope`)), 'mirror; revision=N')
    const more = ['?limit=1', '?limit=x', '?labelSelector=a%20b%20c', '?fieldSelector=x%3Dy']
    for (const query of more) {
      t.equal(originOf(await other.get(maps + query)), 'pass; reason=version', query)
    }
    const watch = `${maps}?watch=1&timeoutSeconds=1`
    t.equal(originOf(await other.get(watch)), 'mirror; revision=N')
    t.equal(originOf(await other.get(`${watch}&allowWatchBookmarks=1`)), 'pass; reason=version')
    const vouched = await startProxied(t, {
      objects,
      upstream: { minor: '99' },
      compatibleMinors: new Set([99]),
    })
    await answeredHere(vouched, '', 'v1', 'configmaps')
    t.equal(originOf(await vouched.get(`${maps}?limit=1`)), 'mirror; revision=N')
  },
)

t.test(
  'servers of different versions that answer on one connection: what is built in passes',
  async t => {
    let minors = ['36', '35']
    let asked = 0
    const answer = (): DirectAnswer => {
      const minor = minors[asked++ % minors.length]!
      return json({ major: '1', minor, gitVersion: `v1.${minor}.0` })
    }
    const before: Before = ({ url }) => (url === '/version' ? answer() : undefined)
    const proxied = await startProxied(t, { objects, upstream: { before } })
    const { knowledge } = proxied.service
    while (knowledge?.versions.length !== 2) await moment()
    let origin = ''
    while (origin !== 'pass; reason=version') {
      origin = originOf(await proxied.get(maps))
      t.match(origin, /^pass/)
    }
    t.equal(knowledge.isVersionCovered, false)
    asked = 0
    minors = ['36']
    await answeredHere(proxied, '', 'v1', 'configmaps')
    t.ok(asked >= 16, 'it is not believed at once')
    t.equal(originOf(await proxied.get(maps)), 'mirror; revision=N')
  },
)

t.test('an upstream without aggregated discovery is read version by version', async t => {
  const proxied = await startProxied(t, { objects, upstream: { hasAggregated: false } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await proxied.get(maps)), 'mirror; revision=N')
  t.ok(proxied.upstream.seen.some(({ url }) => url === '/apis/apps/v1'))
})

t.test('what was empty is answered here as soon as it has an object', async t => {
  const proxied = await startProxied(t, { objects })
  const { upstream, get } = proxied
  await compared(proxied)
  t.equal(originOf(await get(leases)), 'pass; reason=unproven')
  await created(upstream.port, leases, lease)
  await answeredHere(proxied, 'coordination.k8s.io', 'v1', 'leases')
  t.equal(await itemsOf(proxied, leases), 1)
})

t.test(
  'an empty resource is answered here once its lists had the revisions of our etcd',
  async t => {
    const proxied = await startProxied(t, { objects })
    const { upstream, get } = proxied
    await answeredHere(proxied, '', 'v1', 'configmaps')
    for (let i = 0; originOf(await get(leases)) !== 'mirror; revision=N'; i++) {
      await created(upstream.port, maps, configMap(`rises-${i}`, '1'))
    }
    t.equal(proxied.service.knowledge?.storageStates.shared !== 0, true)
    for (const accept of ['application/json', table, 'application/vnd.kubernetes.protobuf']) {
      let ours = await get(leases, { accept })
      while (originOf(ours) !== 'mirror; revision=N') ours = await get(leases, { accept })
      const theirs = await ask(upstream.port, { path: leases, headers: { accept } })
      t.strictSame(ours.body, theirs.body, accept)
    }
    await created(upstream.port, leases, lease)
    t.equal(await itemsOf(proxied, leases), 1, 'its first object is seen at once')
    await answeredHere(proxied, 'coordination.k8s.io', 'v1', 'leases')
    t.equal(originOf(await get(leases)), 'mirror; revision=N')
  },
)

t.test('as long as the upstream does not answer, nothing does', async t => {
  const proxied = await startProxied(t, { objects, upstream: { isDown: true } })
  const { get, service, port } = proxied
  for (const path of [maps, '/api/v1/pods', '/version']) {
    const answer = await get(path)
    t.equal(answer.status, 503, path)
  }
  t.equal(service.knowledge?.isKnown, false)
  t.equal((await ask(port, { path: maps })).headers['x-watchglass'], 'pass; reason=version')
})
