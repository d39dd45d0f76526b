import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf as kubernetesSchema } from '../../../lib/codec/schema/schema.ts'
import { convertStored } from '../../../lib/codec/served/convert.ts'
import {
  metadata,
  protobuf,
  served,
  servedMetadata,
  time,
} from '../../support/kube/stored-kinds.ts'

const micro = '2026-11-21T04:13:40.123456Z'

t.test('an Event of the core group is served by events.k8s.io under other names', async t => {
  const regarding = { kind: 'Pod', name: 'p', fieldPath: 'spec' }
  const related = { kind: 'Node', name: 'n' }
  const series = { count: 3, lastObservedTime: micro }
  const stored = {
    kind: 'Event',
    apiVersion: 'v1',
    metadata,
    involvedObject: regarding,
    reason: 'Killing',
    message: 'bye',
    source: { component: 'kubelet', host: 'h' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 4,
    type: 'Normal',
    eventTime: micro,
    series,
    action: 'Act',
    related,
    reportingComponent: 'c',
    reportingInstance: 'i',
  }
  t.same(served(protobuf(stored), 'events.k8s.io/v1', 'Event'), {
    kind: 'Event',
    apiVersion: 'events.k8s.io/v1',
    metadata: servedMetadata,
    eventTime: micro,
    series,
    reportingController: 'c',
    reportingInstance: 'i',
    action: 'Act',
    reason: 'Killing',
    regarding,
    related,
    note: 'bye',
    type: 'Normal',
    deprecatedSource: { component: 'kubelet', host: 'h' },
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
    deprecatedCount: 4,
  })
  const pod = protobuf({ kind: 'Pod', apiVersion: 'v1', metadata })
  t.equal(served(pod, 'events.k8s.io/v1', 'Event'), 'stored value is no Event of the core group')
})

const schemaOf = (extra: object) => ({ openAPIV3Schema: { type: 'object', ...extra } })
const definition = (spec: object, apiVersion = 'apiextensions.k8s.io/v1beta1') =>
  Buffer.from(
    JSON.stringify({
      kind: 'CustomResourceDefinition',
      apiVersion,
      metadata,
      spec: {
        group: 'example.com',
        version: 'v1',
        names: { plural: 'widgets', kind: 'Widget' },
        scope: 'Cluster',
        preserveUnknownFields: false,
        versions: [
          { name: 'v1', served: true, storage: true },
          { name: 'v2', served: true, storage: false },
        ],
        conversion: { strategy: 'None' },
        ...spec,
      },
      status: {
        conditions: [],
        acceptedNames: { plural: 'widgets', kind: 'Widget' },
        storedVersions: ['v1'],
      },
    }),
  )

interface Definition {
  readonly spec: {
    readonly versions: readonly Readonly<Record<string, unknown>>[]
    readonly conversion: object
    readonly preserveUnknownFields?: boolean
    readonly names: object
  }
}
const servedDefinition = (bytes: Uint8Array) =>
  served(bytes, 'apiextensions.k8s.io/v1', 'CustomResourceDefinition') as Definition

t.test('what a definition says for all versions is said in each', async t => {
  const { spec } = servedDefinition(
    definition({
      validation: schemaOf({}),
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: 'A', type: 'string', JSONPath: '.spec.a' }],
      selectableFields: [{ jsonPath: '.spec.a' }],
    }),
  )
  const shared = {
    schema: schemaOf({}),
    subresources: { status: {} },
    additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a' }],
    selectableFields: [{ jsonPath: '.spec.a' }],
  }
  t.same(spec.versions, [
    { name: 'v1', served: true, storage: true, ...shared },
    { name: 'v2', served: true, storage: false, ...shared },
  ])
  t.same(spec.names, {
    plural: 'widgets',
    kind: 'Widget',
    singular: 'widget',
    listKind: 'WidgetList',
  })
  t.notOk('version' in spec || 'validation' in spec || 'preserveUnknownFields' in spec)
})

t.test('a definition of the oldest form gets its one version', async t => {
  const { spec } = servedDefinition(
    definition({ versions: undefined, validation: schemaOf({}), preserveUnknownFields: undefined }),
  )
  t.same(spec.versions, [{ name: 'v1', served: true, storage: true, schema: schemaOf({}) }])
  t.equal(spec.preserveUnknownFields, true)
})

t.test('an older definition without a stored version has the one that is stored', async t => {
  const versions = [
    { name: 'v1', served: true, storage: false },
    { name: 'v2', served: true, storage: true },
  ]
  const { status: _, ...stored } = JSON.parse(definition({ versions }).toString()) as {
    status: object
  }
  t.match(servedDefinition(Buffer.from(JSON.stringify(stored))), {
    status: { storedVersions: ['v2'] },
  })
})

t.test('the conversion webhook of a definition moves into an object', async t => {
  const webhookClientConfig = { service: { namespace: 'n', name: 's', path: '/c', port: 443 } }
  const { spec } = servedDefinition(
    definition({
      conversion: { strategy: 'Webhook', webhookClientConfig, conversionReviewVersions: ['v1'] },
    }),
  )
  t.same(spec.conversion, {
    strategy: 'Webhook',
    webhook: { clientConfig: webhookClientConfig, conversionReviewVersions: ['v1'] },
  })
})

t.test('values of any type in a schema come out sorted, and nothing else does', async t => {
  const property = {
    default: { b: 1, a: [{ d: 1.5, c: null }] },
    enum: [{ z: 1, y: 2 }, null],
    example: 'e',
  }
  const schema = schemaOf({
    properties: {
      zeta: property,
      default: { type: 'string' },
      alpha: { items: { default: { b: 1, a: 2 } } },
    },
  })
  for (const apiVersion of ['apiextensions.k8s.io/v1beta1', 'apiextensions.k8s.io/v1']) {
    const versions = [{ name: 'v1', served: true, storage: true, schema }]
    const got = servedDefinition(definition({ version: undefined, versions }, apiVersion))
    t.match(
      JSON.stringify(got.spec.versions[0]?.['schema']),
      /"alpha":\{"items":\{"default":\{"a":2,"b":1\}\}\},"default":\{"type":"string"\}/,
    )
    t.match(
      JSON.stringify(got.spec.versions[0]?.['schema']),
      /"default":\{"a":\[\{"c":null,"d":1\.5\}\],"b":1\},"enum":\[\{"y":2,"z":1\},null\]/,
    )
  }
})

t.test('an APIService goes through its type', async t => {
  const stored = Buffer.from(
    JSON.stringify({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata,
      spec: {
        version: 'v1',
        service: { name: 's', namespace: 'n' },
        groupPriorityMinimum: 1,
        versionPriority: 2,
      },
    }),
  )
  const got = served(stored, 'apiregistration.k8s.io/v1', 'APIService')
  t.same(got, {
    kind: 'APIService',
    apiVersion: 'apiregistration.k8s.io/v1',
    metadata: servedMetadata,
    spec: {
      service: { namespace: 'n', name: 's', port: 443 },
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 2,
    },
    status: {},
  })
})

t.test('what is not of the kind that is converted is not exact', async t => {
  const text = (value: string) => Buffer.from(value)
  const kinds = [
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
    ['apiregistration.k8s.io/v1', 'APIService'],
    ['autoscaling/v1', 'HorizontalPodAutoscaler'],
    ['events.k8s.io/v1', 'Event'],
  ] as const
  const values = [
    '{',
    '{}',
    '[]',
    '{"kind":"APIService"}',
    '{"kind":"CustomResourceDefinition"}',
    'k8s\0',
  ]
  for (const [apiVersion, kind] of kinds) {
    for (const value of values) {
      t.type(served(text(value), apiVersion, kind), 'string', kind)
    }
  }
})

t.test('what is stored under the name of another kind is not converted', async t => {
  const schema = kubernetesSchema()
  const reason = (text: string | Uint8Array, apiVersion: string, kind: string): string => {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    const made = convertStored({ bytes, start: 0, end: bytes.length }, { schema, apiVersion, kind })
    return made instanceof NotExact ? made.reason : 'converted'
  }
  const definitions = ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'] as const
  t.equal(reason('[]', ...definitions), 'stored definition is not a JSON object')
  t.equal(reason('{"kind":"Pod"}', ...definitions), 'stored value is no definition')
  const old = {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    metadata: { name: 'as.example.com' },
    spec: { group: 'example.com', version: 'v7', versions: [], names: { plural: 'as', kind: 'A' } },
  }
  t.match(served(Buffer.from(JSON.stringify(old)), ...definitions), {
    spec: {
      versions: [{ name: 'v7', served: true, storage: true }],
      names: { singular: 'a', listKind: 'AList' },
      scope: 'Namespaced',
    },
    status: { storedVersions: ['v7'] },
  })
  const pod = protobuf({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } })
  t.equal(reason(pod, 'events.k8s.io/v1', 'Event'), 'stored value is no Event of the core group')
  const event = protobuf({ kind: 'Event', apiVersion: 'v1', metadata: { name: 'a' }, reason: 'r' })
  t.equal(reason(event, 'events.k8s.io/v1', 'Event'), 'converted')
  // Field 3, a text of one byte, now says that it has 127.
  event[Buffer.from(event).indexOf(Buffer.from([0x1a, 1, 'r'.charCodeAt(0)])) + 1] = 127
  t.equal(reason(event, 'events.k8s.io/v1', 'Event'), 'an Event is malformed')
  t.equal(
    reason(pod, 'autoscaling/v1', 'HorizontalPodAutoscaler'),
    'stored value is no autoscaler of autoscaling/v2',
  )
  t.equal(reason(pod, 'v1', 'Pod'), 'no conversion to v1 Pod')
})
