import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { configuredResource } from '../../../lib/cli/commands/plan/configured-resources.ts'
import { Discovery } from '../../../lib/kube/documents/discovery.ts'
import { OpenApi } from '../../../lib/kube/documents/openapi.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { routeRequest } from '../../../lib/kube/request/routes.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { allSteps } from '../../support/steps.ts'

const flunders = {
  group: 'wardle.example.com',
  version: 'v1',
  resource: 'flunders',
  kind: 'Flunder',
  scope: 'Namespaced',
  prefix: '/wardle/flunders',
  selectableFields: [{ jsonPath: '.spec.reference' }],
  printerColumns: [{ name: 'Reference', type: 'string', jsonPath: '.spec.reference' }],
}

t.test('a configured resource is routed and found like a built-in one', async t => {
  const resource = configuredResource(flunders)
  const registry = new Registry({ schema: schemaOf(), installed: [resource] })
  const route = routeRequest('GET', '/apis/wardle.example.com/v1/namespaces/a/flunders/f', registry)
  t.match(route, { type: 'resource', verb: 'get', namespace: 'a', name: 'f' })
  t.match(routeRequest('GET', '/apis/wardle.example.com/v1/foos', registry), { type: 'failure' })
  t.equal(registry.keyspaceOf(keyFromText('/wardle/flunders/a/f')), '/wardle/flunders/')
  t.equal(registry.keyspaceOf(keyFromText('/wardle/flundersx/a/f')), undefined)
  t.strictSame(
    resource.fields.map(({ label }) => label),
    ['metadata.name', 'metadata.namespace', 'spec.reference'],
  )
  t.equal(resource.custom?.columns?.[0]?.jsonPath, '.spec.reference')
})

t.test('a configured resource is listed and described', async t => {
  const registry = new Registry({ schema: schemaOf(), installed: [configuredResource(flunders)] })
  const discovery = new Discovery({ registry, digests, serverAddress: '' })
  t.match(discovery.resources('wardle.example.com', 'v1'), '"name":"flunders"')
  t.match(discovery.aggregated('/apis').body, '"resource":"flunders"')
  const openApi = new OpenApi({ registry, digests, gitVersion: 'v1' })
  t.match(allSteps(openApi.document('apis/wardle.example.com/v1')), 'com.example.wardle.v1.Flunder')
})

t.test('a declaration that cannot work is refused', async t => {
  const wrong: readonly object[] = [
    { group: '' },
    { group: 'a/b' },
    { version: undefined },
    { resource: '..' },
    { kind: 'a b' },
    { scope: 'Everywhere' },
    { prefix: '/' },
    { selectableFields: [{ jsonPath: '.metadata.uid' }] },
    { selectableFields: [{ jsonPath: '.spec.a[0]' }] },
    { selectableFields: [{ jsonPath: '.spec.a' }, { jsonPath: '.spec.a' }] },
  ]
  for (const change of wrong) {
    t.throws(
      () => configuredResource({ ...flunders, ...change }),
      CacheError,
      JSON.stringify(change),
    )
  }
  t.throws(() => configuredResource('x'), CacheError)
})
