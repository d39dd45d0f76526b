import t from 'tap'
import { OpenApi } from '../../../../lib/kube/documents/openapi.ts'
import { objectOf, type UntypedObject } from '../../../../lib/base/untyped.ts'
import { digests } from '../../../../lib/ops/digests.ts'
import { registryAt } from '../../../support/kube/kube-golden.ts'
import { allSteps } from '../../../support/steps.ts'

const openApi = new OpenApi({ registry: registryAt(708), digests, gitVersion: 'v1.36.2' })

function schemasOf(document: string | undefined): UntypedObject {
  const parsed = objectOf(JSON.parse(document ?? '{}'))
  return objectOf(parsed['definitions'] ?? objectOf(parsed['components'])['schemas'])
}

t.test('the index leads to every document, and every reference to a schema', async t => {
  const { paths } = JSON.parse(allSteps(openApi.index())) as {
    paths: Readonly<Record<string, UntypedObject>>
  }
  t.ok(paths['api/v1'] && paths['apis/apps/v1'] && paths['apis/multi.example.com/v1alpha1'])
  for (const path of Object.keys(paths)) {
    const parts = path.split('/')
    const document = allSteps(openApi.document(parts.length === 3 ? parts[1]! : '', parts.at(-1)!))
    const schemas = schemasOf(document)
    const references = document?.match(/#\/components\/schemas\/[^"]+/g) ?? []
    const missing = references.filter(found => schemas[found.split('/').at(-1)!] === undefined)
    t.strictSame(missing, [], path)
  }
  t.equal(allSteps(openApi.document('nope.example.com', 'v1')), undefined)
})

t.test('kinds say which fields can be selected', async t => {
  const selectable = (document: string | undefined, name: string): unknown =>
    objectOf(schemasOf(document)[name])['x-kubernetes-selectable-fields']
  const pod = selectable(allSteps(openApi.document('', 'v1')), 'io.k8s.api.core.v1.Pod')
  t.match(pod, [{ fieldPath: 'metadata.name' }, { fieldPath: 'metadata.namespace' }])
  t.match(JSON.stringify(pod), '{"fieldPath":"spec.hostNetwork","default":"false"}')
  for (const document of [
    allSteps(openApi.document('example.com', 'v1')),
    allSteps(openApi.all()),
  ]) {
    t.strictSame(selectable(document, 'com.example.v1.Widget'), [
      { fieldPath: 'metadata.name' },
      { fieldPath: 'metadata.namespace' },
      { fieldPath: 'spec.color' },
      { fieldPath: 'spec.size' },
      { fieldPath: 'spec.enabled' },
    ])
  }
})

t.test('paths name the kind that they answer with', async t => {
  const { paths } = JSON.parse(allSteps(openApi.document('apps', 'v1'))!) as {
    paths: Readonly<Record<string, { get?: Readonly<Record<string, unknown>> }>>
  }
  t.strictSame(
    paths['/apis/apps/v1/namespaces/{namespace}/deployments']?.get?.[
      'x-kubernetes-group-version-kind'
    ],
    { group: 'apps', kind: 'Deployment', version: 'v1' },
  )
})

t.test('what JSON has no type for is a text with a format', async t => {
  const formats: Readonly<Record<string, object>> = {
    'api.resource.Quantity': { type: 'string' },
    'apis.meta.v1.Time': { type: 'string', format: 'date-time' },
    'apis.meta.v1.MicroTime': { type: 'string', format: 'date-time' },
    'util.intstr.IntOrString': { type: 'string', format: 'int-or-string' },
    'apis.meta.v1.FieldsV1': { type: 'object' },
    'runtime.RawExtension': { type: 'object' },
  }
  const schemas = schemasOf(allSteps(openApi.all()))
  for (const [name, expected] of Object.entries(formats)) {
    const { description: _, ...schema } = objectOf(schemas[`io.k8s.apimachinery.pkg.${name}`])
    t.strictSame(schema, expected, name)
  }
  const { properties } = objectOf(schemas['io.k8s.api.core.v1.Secret'])
  t.match(properties, { data: { additionalProperties: { type: 'string', format: 'byte' } } })
})
