import t from 'tap'
import { Discovery } from '../../../lib/kube/documents/discovery.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { routeRequest } from '../../../lib/kube/request/routes.ts'
import { type Exchange, exchanges } from '../../golden/load.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { registryAt } from '../../support/kube/kube-golden.ts'

const registry = registryAt(636)
const discovery = new Discovery({ registry, digests, serverAddress: '127.0.0.1:16443' })

const recorded = exchanges().filter(
  ({ request, response }) =>
    request.method === 'GET' &&
    /^{"kind":"API(?:Versions|Group|GroupList|ResourceList|GroupDiscoveryList)"/.test(
      response.body ?? '',
    ),
)

t.test('discovery documents are those of upstream', async t => {
  for (const exchange of recorded) {
    t.equal(bodyOf(exchange), exchange.response.body, `${exchange.id} ${exchange.request.path}`)
  }
  t.ok(recorded.length >= 13, `${recorded.length} documents compared`)
})

t.test('the aggregated document has the hash that upstream gives it', async t => {
  const exchange = recorded.find(({ response }) => response.headers['etag'] !== undefined)!
  const { body, etag } = discovery.aggregated('/apis')
  t.equal(body, exchange.response.body)
  t.equal(etag, exchange.response.headers['etag'])
})

t.test('the core group has an aggregated document of its own', async t => {
  const { body } = discovery.aggregated('/api')
  const { items } = JSON.parse(body) as { items: { metadata: object; versions: unknown[] }[] }
  t.strictSame(items.length, 1)
  t.strictSame(items[0]?.metadata, {})
})

t.test('the paths of the API are listed beside those of the service', async t => {
  const { paths } = JSON.parse(discovery.paths(['/readyz'])) as { paths: string[] }
  t.strictSame(paths, [...paths].sort())
  for (const path of ['/api/v1', '/apis/', '/apis/example.com/v1', '/readyz']) {
    t.ok(paths.includes(path), path)
  }
  t.match(discovery.version(), /^\{\n {2}"major": "1",/)
})

function bodyOf({ request, response }: Exchange): string | undefined {
  const { path } = parseTarget(request.path)!
  if (response.headers['etag'] !== undefined) return discovery.aggregated('/apis').body
  const route = routeRequest('GET', path, registry)
  return route.type === 'discovery' ? discovery.document(route) : route.type
}

t.test('the paths are a document of their own, with all groups and versions', async t => {
  const text = discovery.paths(['/zzz'])
  const { paths } = JSON.parse(text) as { paths: string[] }
  t.equal(text, JSON.stringify({ paths }, undefined, 2))
  const { groups } = JSON.parse(discovery.groups()) as {
    groups: { name: string; versions: { groupVersion: string }[] }[]
  }
  t.strictSame(
    new Set(paths),
    new Set([
      '/api',
      '/api/v1',
      '/apis',
      '/apis/',
      '/zzz',
      ...groups.flatMap(({ name, versions }) => [
        `/apis/${name}`,
        ...versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
      ]),
    ]),
  )
  t.equal(discovery.document({ document: 'version' }), discovery.version())
  t.equal(discovery.document({ document: 'groups' }), discovery.groups())
  t.equal(discovery.document({ document: 'core' }), discovery.core())
  t.equal(discovery.document({ document: 'group', group: 'none' }), undefined)
})
