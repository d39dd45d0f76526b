import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { decide } from '../../../lib/kube/decide.ts'
import { planRead } from '../../../lib/kube/read-plan.ts'
import { KnownRequest } from '../../../lib/kube/recent-requests.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { type ResourceRoute, routeRequest } from '../../../lib/kube/request/routes.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { restrictedTo } from '../../../lib/kube/resources/keyspaces.ts'
import { keyspaceNames, Registry } from '../../../lib/kube/resources/registry.ts'
import { specialKeyspaces } from '../../../lib/kube/resources/special-keyspaces.ts'
import { compileFilter } from '../../../lib/kube/selectors/filter.ts'
import { jsonEntry } from '../../support/kube/kube-builders.ts'

const namespaces = ['a', 'team-b']
const installed = builtInResources(schemaOf()).map(one => restrictedTo(one, namespaces))
const registry = new Registry({ schema: schemaOf(), installed })

function routed(target: string): { readonly known: KnownRequest; readonly route: ResourceRoute } {
  const parsed = parseTarget(target)!
  const route = routeRequest('GET', parsed.path, registry)
  return { known: new KnownRequest(parsed, route), route: route as ResourceRoute }
}

t.test('each namespace is a keyspace of its own, and resources of the cluster are one', t => {
  const rows: readonly (readonly [key: string, keyspace: string | undefined])[] = [
    ['/registry/pods/a/p', '/registry/pods/a/'],
    ['/registry/pods/team-b/p', '/registry/pods/team-b/'],
    ['/registry/pods/team/p', undefined],
    ['/registry/pods/other/p', undefined],
    ['/registry/pods/a', undefined],
    ['/registry/services/specs/a/s', '/registry/services/specs/a/'],
    ['/registry/services/endpoints/a/s', '/registry/services/endpoints/a/'],
    ['/registry/minions/a', '/registry/minions/'],
    ['/registry/namespaces/a', '/registry/namespaces/'],
  ]
  for (const [key, keyspace] of rows) t.equal(registry.keyspaceOf(keyFromText(key)), keyspace, key)
  const [first] = registry.resourcesAt(keyFromText('/registry/pods/a/'))
  t.equal(first?.resource, 'pods')
  t.strictSame(registry.resourcesAt(keyFromText('/registry/pods/')), [])
  const nameOf = keyspaceNames(() => ({ registry }))
  t.equal(nameOf('/registry/pods/a/'), 'pods in a')
  t.equal(nameOf('/registry/deployments/team-b/'), 'deployments.apps in team-b')
  t.equal(nameOf('/registry/minions/'), 'nodes')
  const isSpecial = specialKeyspaces('/registry')
  t.ok(isSpecial('/registry/roles/a/'))
  t.notOk(isSpecial('/registry/pods/a/'))
  t.end()
})

t.test('a request reads the keyspace of its namespace; others pass', t => {
  const rows: readonly (readonly [target: string, keyspace: string | undefined])[] = [
    ['/api/v1/namespaces/a/pods', '/registry/pods/a/'],
    ['/api/v1/namespaces/a/pods?watch=1', '/registry/pods/a/'],
    ['/api/v1/namespaces/team-b/pods/p', '/registry/pods/team-b/'],
    ['/api/v1/namespaces/other/pods/p', undefined],
    ['/api/v1/pods', undefined],
    ['/api/v1/pods?fieldSelector=metadata.namespace%3Da', undefined],
    ['/api/v1/nodes', '/registry/minions/'],
    ['/api/v1/namespaces/other', '/registry/namespaces/'],
  ]
  for (const [target, keyspace] of rows) {
    const { known, route } = routed(target)
    const input = { known, request: { headers: {} }, accept: '' }
    const decision = decide(input, { hasUpstream: true, isExcluded: () => false })
    if (keyspace === undefined) {
      t.strictSame(decision, { type: 'pass', reason: 'excluded' }, target)
      continue
    }
    t.strictSame(decision, { type: 'mirror' }, target)
    t.equal(planRead(route, known.target.query).keyspace, keyspace, target)
  }
  t.end()
})

t.test('the namespace in a key is found, although the keyspace goes on behind it', t => {
  const entry = jsonEntry('/registry/pods/a/p', { metadata: { name: 'p', namespace: 'a' } }, 5)
  const rows: readonly (readonly [selector: string, isSelected: boolean])[] = [
    ['metadata.namespace=a', true],
    ['metadata.namespace!=a', false],
    ['metadata.namespace=team-b', false],
    ['metadata.name=p,metadata.namespace=a', true],
  ]
  for (const [selector, isSelected] of rows) {
    const target = `/api/v1/namespaces/a/pods?fieldSelector=${encodeURIComponent(selector)}`
    const { known, route } = routed(target)
    const plan = planRead(route, known.target.query)
    if (plan.type !== 'list') throw new Error('a list is planned')
    const noReader = (): never => {
      throw new Error('names are in the key')
    }
    t.equal(compileFilter(plan, noReader)?.(entry), isSelected, selector)
  }
  t.end()
})
