import t from 'tap'
import { OpenApi } from '../../../lib/kube/documents/openapi.ts'
import { objectOf, type UntypedObject } from '../../../lib/base/untyped.ts'
import { minors, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { customSchema } from '../../../lib/kube/documents/custom-schemas.ts'
import { SchemaSet } from '../../../lib/kube/documents/openapi-schemas.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { parameterTexts } from '../../../lib/kube/documents/openapi-texts.ts'
import { registryAt } from '../../support/kube/kube-golden.ts'
import { readAsked } from '../../golden/asked.ts'
import { allSteps } from '../../support/steps.ts'

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
    const document = allSteps(openApi.document(path))
    const schemas = schemasOf(document)
    const references = document?.match(/#\/components\/schemas\/[^"]+/g) ?? []
    const missing = references.filter(found => schemas[found.split('/').at(-1)!] === undefined)
    t.strictSame(missing, [], path)
  }
  t.equal(allSteps(openApi.document('apis/nope.example.com/v1')), undefined)
})

t.test('custom kinds say which fields can be selected', async t => {
  const selectable = (document: string | undefined, name: string): unknown =>
    objectOf(schemasOf(document)[name])['x-kubernetes-selectable-fields']
  for (const document of [
    allSteps(openApi.document('apis/example.com/v1')),
    allSteps(openApi.all()),
  ]) {
    t.strictSame(selectable(document, 'com.example.v1.Widget'), [
      { fieldPath: 'spec.color' },
      { fieldPath: 'spec.size' },
      { fieldPath: 'spec.enabled' },
    ])
  }
})

t.test('a kind is described, with its defaults and merge rules', async t => {
  const version3 = schemasOf(allSteps(openApi.document('api/v1')))
  t.match(version3['io.k8s.api.core.v1.ContainerPort'], {
    description: 'ContainerPort represents a network port in a single container.',
    type: 'object',
    required: ['containerPort'],
    properties: {
      containerPort: { default: 0, format: 'int32', type: 'integer' },
      protocol: {
        default: 'TCP',
        description: 'Protocol for port. Must be UDP, TCP, or SCTP. Defaults to "TCP".',
        type: 'string',
      },
    },
  })
  t.match(objectOf(version3['io.k8s.api.core.v1.Pod'])['properties'], {
    spec: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }], default: {} },
  })
  const version2 = schemasOf(allSteps(openApi.all()))
  t.strictSame(objectOf(objectOf(version2['io.k8s.api.core.v1.Pod'])['properties'])['status'], {
    description:
      'Most recently observed status of the pod. This data may not be up to date. Populated by the system. Read-only. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status',
    $ref: '#/definitions/io.k8s.api.core.v1.PodStatus',
  })
  t.match(objectOf(version2['io.k8s.api.core.v1.Container'])['properties'], {
    ports: {
      type: 'array',
      'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      'x-kubernetes-patch-merge-key': 'containerPort',
      'x-kubernetes-patch-strategy': 'merge',
    },
  })
})

t.test('every built-in kind and field of every minor is described', async t => {
  for (const minor of minors()) {
    const schema = schemaOf(minor)
    const registry = new Registry({
      schema,
      installed: builtInResources(schema),
      definitions: [],
      services: [],
    })
    const all = new OpenApi({ registry, digests, gitVersion: '' })
    let [described, bare] = [0, 0]
    for (const found of Object.values(schemasOf(allSteps(all.all())))) {
      for (const property of Object.values(objectOf(objectOf(found)['properties']))) {
        if (objectOf(property)['description'] === undefined) bare++
        else described++
      }
    }
    // Upstream leaves some undescribed, too, and nobody has told us of the newest minor.
    t.ok(bare < described / 12, `${minor}: ${described} with a description, ${bare} without`)
  }
})

interface Written {
  readonly operationId: string
  readonly description: string
  readonly parameters?: readonly { readonly name?: string; readonly $ref?: string }[]
}

/** The operations of a path: their ids and descriptions. */
function operationsOf(document: string | undefined, path: string): string[] {
  const { paths } = JSON.parse(document!) as { paths: Record<string, Record<string, Written>> }
  return Object.entries(paths[path] ?? {}).flatMap(([method, { operationId, description }]) =>
    method === 'parameters' ? [] : `${method} ${operationId}: ${description}`,
  )
}

t.test('operations have the names and texts of kube-apiserver', async t => {
  const core = allSteps(openApi.document('api/v1'))
  t.strictSame(operationsOf(core, '/api/v1/namespaces/{namespace}/pods/{name}'), [
    'get readCoreV1NamespacedPod: read the specified Pod',
    'put replaceCoreV1NamespacedPod: replace the specified Pod',
    'delete deleteCoreV1NamespacedPod: delete a Pod',
    'patch patchCoreV1NamespacedPod: partially update the specified Pod',
  ])
  t.strictSame(operationsOf(core, '/api/v1/namespaces/{namespace}/endpoints').slice(1), [
    'post createCoreV1NamespacedEndpoints: create Endpoints',
    'delete deleteCoreV1CollectionNamespacedEndpoints: delete collection of Endpoints',
  ])
  t.strictSame(operationsOf(core, '/api/v1/namespaces/{namespace}/pods/{name}/eviction'), [
    'post createCoreV1NamespacedPodEviction: create eviction of a Pod',
  ])
  t.strictSame(operationsOf(core, '/api/v1/pods'), [
    'get listCoreV1PodForAllNamespaces: list or watch objects of kind Pod',
  ])
  t.strictSame(operationsOf(core, '/api/v1/namespaces/{namespace}/pods/{name}/exec'), [
    'get connectCoreV1GetNamespacedPodExec: connect GET requests to exec of Pod',
    'post connectCoreV1PostNamespacedPodExec: connect POST requests to exec of Pod',
  ])
  const flow = allSteps(openApi.document('apis/flowcontrol.apiserver.k8s.io/v1'))
  t.strictSame(
    operationsOf(flow, '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/{name}/status')[0],
    'get readFlowcontrolApiserverV1FlowSchemaStatus: read status of the specified FlowSchema',
  )
  const custom = allSteps(openApi.document('apis/example.com/v1'))
  t.strictSame(operationsOf(custom, '/apis/example.com/v1/namespaces/{namespace}/widgets'), [
    'get listExampleComV1NamespacedWidget: list objects of kind Widget',
    'post createExampleComV1NamespacedWidget: create a Widget',
    'delete deleteExampleComV1CollectionNamespacedWidget: delete collection of Widget',
  ])
  t.strictSame(operationsOf(custom, '/apis/example.com/v1/namespaces/{namespace}/widgets/{name}'), [
    'get readExampleComV1NamespacedWidget: read the specified Widget',
    'put replaceExampleComV1NamespacedWidget: replace the specified Widget',
    'delete deleteExampleComV1NamespacedWidget: delete a Widget',
    'patch patchExampleComV1NamespacedWidget: partially update the specified Widget',
  ])
  t.strictSame(operationsOf(core, '/api/v1/'), [
    'get getCoreV1APIResources: get available resources',
  ])
  const all = allSteps(openApi.all())
  t.strictSame(operationsOf(all, '/apis/apps/'), [
    'get getAppsAPIGroup: get information of a group',
  ])
  t.strictSame(operationsOf(all, '/api/'), ['get getCoreAPIVersions: get available API versions'])
})

t.test('a delete that may take its time is answered with 202, too', async t => {
  const core = allSteps(openApi.document('api/v1'))
  const { paths } = JSON.parse(core!) as {
    paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>
  }
  const created = paths['/api/v1/namespaces/{namespace}/pods']?.['post']?.responses ?? {}
  t.strictSame(
    Object.values(created).map(({ description }) => description),
    ['OK', 'Created', 'Accepted', 'Unauthorized'],
  )
  const codes = (path: string, method: string): string[] =>
    Object.keys(paths[path]?.[method]?.responses ?? {})
  const pods = '/api/v1/namespaces/{namespace}/pods'
  t.strictSame(codes(`${pods}/{name}`, 'delete'), ['200', '202', '401'])
  t.strictSame(codes('/api/v1/namespaces/{name}', 'delete'), ['200', '202', '401'])
  t.strictSame(codes(pods, 'delete'), ['200', '401'])
  t.strictSame(codes(pods, 'post'), ['200', '201', '202', '401'])
  t.strictSame(codes(`${pods}/{name}`, 'put'), ['200', '201', '401'])
  t.strictSame(codes(`${pods}/{name}`, 'patch'), ['200', '201', '401'])
})

t.test('a minor has no parameter that came later', async t => {
  t.equal(parameterTexts('shardSelector', '1.35'), undefined)
  t.match(parameterTexts('shardSelector', '1.36'), { type: 'string', text: /shardRange/ })
  t.equal(parameterTexts('toString', '1.36'), undefined)
})

t.test('shared parameters of version 2 are named as recorded', async t => {
  const recorded = readAsked('aggregated/exchanges.jsonl.gz').find(
    ({ request, response }) => request.path === '/openapi/v2' && response.body !== undefined,
  )
  const theirs = JSON.parse(recorded?.response.body ?? '{}') as { parameters: UntypedObject }
  const ours = JSON.parse(allSteps(openApi.all())) as { parameters: UntypedObject }
  const names = Object.keys(theirs.parameters)
  t.ok(names.length > 15)
  for (const name of names) t.strictSame(ours.parameters[name], theirs.parameters[name], name)
})

t.test('a custom schema says less in version 2', async t => {
  const text = (name: string, document: string | undefined): UntypedObject =>
    objectOf(schemasOf(document)[name])
  const set = (version: 2 | 3): UntypedObject => {
    const custom = { ...resource.custom!, schema }
    return objectOf(customSchema({ ...resource, custom }, new SchemaSet(schemaOf(), version)))
  }
  const resource = registryAt(708).resources.find(({ kind }) => kind === 'Widget')!
  const schema = {
    type: 'object',
    required: ['maybe', 'spec'],
    properties: {
      maybe: { type: 'object', nullable: true, properties: { a: { type: 'string' } } },
      port: { 'x-kubernetes-int-or-string': true },
      free: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        default: {},
        properties: { a: {} },
      },
      list: { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: {} },
      spec: { type: 'object', oneOf: [{ required: ['a'] }], properties: { a: {}, b: {} } },
      inner: { type: 'object', 'x-kubernetes-embedded-resource': true },
    },
  }
  t.match(set(3)['properties'], {
    ...schema.properties,
    port: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    inner: { required: ['kind', 'apiVersion'] },
    metadata: { allOf: [{}], description: /^Standard object's metadata/ },
  })
  const { properties, required } = set(2)
  t.strictSame(required, ['spec'])
  t.strictSame(
    Object.fromEntries(
      Object.entries(objectOf(properties)).filter(([name]) =>
        /maybe|port|free|list|spec/.test(name),
      ),
    ),
    {
      free: { 'x-kubernetes-preserve-unknown-fields': true },
      list: { 'x-kubernetes-preserve-unknown-fields': true },
      maybe: {},
      port: { 'x-kubernetes-int-or-string': true },
      spec: { type: 'object', properties: { a: {}, b: {} } },
    },
  )
  t.ok(text('com.example.v1.Widget', allSteps(openApi.all()))['properties'])
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

t.test('a long document is hashed in steps, and no character is divided', async t => {
  const text = `${'x'.repeat(512 * 1024 - 1)}\u{1f600}${'y'.repeat(600 * 1024)}`
  const hashing = openApi.hashOf(text)
  let steps = 0
  for (;;) {
    const { done, value } = hashing.next()
    if (done === true) {
      t.equal(value, Buffer.from(digests.sha512(text)).toString('hex').toUpperCase())
      break
    }
    steps++
  }
  t.equal(steps, 3)
})
