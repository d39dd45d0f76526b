import { silentLogger } from '../../support/silent-logger.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { etcdPlanOf } from '../../../lib/cli/commands/plan/etcd-plan.ts'
import { load } from '../../../lib/cli/commands/command-line.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask, startServed } from '../../support/http/served.ts'

function createEtcd(): Client {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(2), scheduler })
  return new EngineClient({ engine, network: new DirectNetwork(scheduler) })
}

async function put(client: Client, key: string, object: unknown): Promise<void> {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (!(value instanceof Uint8Array)) throw new Error('not encoded')
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value }],
    failure: [],
  })
}

function named(kind: string, name: string): unknown {
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'default' } }
}

function planOf(...args: string[]): ReturnType<typeof etcdPlanOf> {
  const invocation = load(['serve', ...args], {})
  if (invocation.kind !== 'run') throw new Error('not to be run')
  return etcdPlanOf(invocation.values, { schema: schemaOf(), prefix: '/registry', configured: [] })
}

t.test('events come from another etcd, and what is excluded is not served', async t => {
  const other = createEtcd()
  const { client, service } = await startServed(t, {
    logger: silentLogger,
    others: [{ client: other, prefixes: ['/registry/events/'] }],
    excluded: ['/registry/secrets/'],
  })
  await put(client, '/registry/configmaps/default/here', named('ConfigMap', 'here'))
  await put(client, '/registry/secrets/default/hidden', named('Secret', 'hidden'))
  await put(client, '/registry/events/default/not-there', named('Event', 'not-there'))
  await put(other, '/registry/events/default/there', named('Event', 'there'))
  await service.ready
  const names = async (path: string): Promise<unknown> => {
    const { status, body } = await ask(service.port, { path })
    const { items } = JSON.parse(body.toString()) as { items?: { metadata: { name: string } }[] }
    return items?.map(({ metadata }) => metadata.name) ?? status
  }
  t.same(await names('/api/v1/configmaps'), ['here'])
  t.same(await names('/api/v1/events'), ['there'])
  t.equal(await names('/api/v1/secrets'), 404)
  const { body } = await ask(service.port, { path: '/api/v1' })
  t.notMatch(body.toString(), /"secrets"/, 'nor is it discovered')
})

t.test('of an etcd only what is kept is read, and what affects how that is served', async t => {
  const client = createEtcd()
  await put(client, '/registry/pods/default/a', named('Pod', 'a'))
  await put(client, '/registry/secrets/default/hidden', named('Secret', 'hidden'))
  const asked = new Set<string>()
  const range = client.range.bind(client)
  const watch = client.watch.bind(client)
  client.range = (request, signal) => {
    asked.add(request.range.start)
    return range(request, signal)
  }
  client.watch = (request, sink) => {
    asked.add(request.range.start)
    return watch(request, sink)
  }
  const only = ['/registry/pods/']
  const isKept = (prefix: string): boolean => only.includes(prefix)
  const { service } = await startServed(t, { client, only, isKept, excluded: ['/registry/roles/'] })
  await service.ready
  const { body } = await ask(service.port, { path: '/api/v1/pods' })
  t.match(body.toString(), /"name":"a"/)
  t.same([...asked].filter(key => key.endsWith('/')).sort(), [
    '/registry/apiextensions.k8s.io/customresourcedefinitions/',
    '/registry/apiregistration.k8s.io/apiservices/',
    '/registry/clusterrolebindings/',
    '/registry/clusterroles/',
    '/registry/pods/',
    '/registry/rolebindings/',
  ])
})

t.test('options name resources as kubectl does', async t => {
  t.same(planOf('--exclude', 'secrets,leases.coordination.k8s.io', '--exclude', 'a.example.com'), {
    others: new Map(),
    neverCache: [],
    excluded: ['/registry/secrets/', '/registry/leases/', '/registry/example.com/a/'],
    atStart: [],
  })
  const { others } = planOf(
    '--etcd-for',
    'events=http://a:1,http://b:1',
    '--etcd-for',
    'leases=http://a:1,http://b:1',
    '--etcd-for',
    'pods=http://c:1',
  )
  t.same(
    [...others],
    [
      ['http://a:1,http://b:1', ['/registry/events/', '/registry/leases/']],
      ['http://c:1', ['/registry/pods/']],
    ],
  )
})

t.test('what names no resource is refused', async t => {
  t.throws(() => planOf('--exclude', 'nonsense'), { code: 'invalid_request' })
  t.throws(() => planOf('--etcd-for', 'events'), { code: 'invalid_request' })
  t.throws(() => planOf('--etcd-for', 'nonsense=http://a:1'), { code: 'invalid_request' })
})
