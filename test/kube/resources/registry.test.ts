import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import { apiService } from '../../../lib/kube/resources/api-services.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import {
  type CustomDefinition,
  customDefinition,
} from '../../../lib/kube/resources/custom-resources.ts'
import { Discovery } from '../../../lib/kube/documents/discovery.ts'
import { warningHeader } from '../../../lib/kube/resources/resource.ts'
import { Registry } from '../../../lib/kube/resources/registry.ts'
import { selectableFields } from '../../../lib/kube/resources/selectable-fields.ts'
import { compareVersions } from '../../../lib/kube/resources/versions.ts'
import { historyBatches } from '../../golden/load.ts'
import { digests } from '../../../lib/cache/ops/digests.ts'
import { builtIn, jsonEntry } from '../../support/kube/kube-builders.ts'

const installed = builtInResources(schemaOf())

function definition(spec: object, conditions = ['Established', 'NamesAccepted']): CustomDefinition {
  const names = { plural: 'widgets', kind: 'Widget' }
  const stored = {
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', names, scope: 'Namespaced', version: 'v1', ...spec },
    status: { conditions: conditions.map(type => ({ type, status: 'True' })) },
  }
  return customDefinition(jsonEntry('/registry/x', stored, 7), '/registry')
}

t.test(
  'no built-in kind is served whose Table cells nobody has compared with a server',
  async t => {
    // Off by default, and so in no recording. Whoever serves one has to let an upstream print it,
    // or to compare it first.
    const unchecked = new Set([
      'certificates.k8s.io/ClusterTrustBundle',
      'certificates.k8s.io/PodCertificateRequest',
      'coordination.k8s.io/LeaseCandidate',
      'internal.apiserver.k8s.io/StorageVersion',
      'resource.k8s.io/DeviceTaintRule',
      'resource.k8s.io/ResourcePoolStatusRequest',
      'scheduling.k8s.io/PodGroup',
      'scheduling.k8s.io/Workload',
      'storagemigration.k8s.io/StorageVersionMigration',
    ])
    const served = installed.map(({ group, kind }) => `${group}/${kind}`)
    t.strictSame(
      served.filter(name => unchecked.has(name)),
      [],
    )
  },
)

t.test('every recorded key belongs to the keyspace that it was written for', async t => {
  const definitions = historyBatches()
    .flatMap(({ changes }) => changes)
    .flatMap(change => (change.type === 'put' ? [change.entry] : []))
    .filter(entry => entry.key.startsWith('/registry/apiextensions.k8s.io/'))
    .map(entry => customDefinition(entry, '/registry'))
  const registry = new Registry({ schema: schemaOf(), installed, definitions })
  const unknown = new Set<string>()
  for (const { changes } of historyBatches()) {
    for (const change of changes) {
      const key = change.type === 'put' ? change.entry.key : change.key
      const keyspace = registry.keyspaceOf(key)
      if (keyspace === undefined) unknown.add(key.split('/').slice(0, 4).join('/'))
      else if (!key.startsWith(keyspace)) t.fail(key)
    }
  }
  t.strictSame(
    [...unknown].filter(key => !/^\/registry\/(?:ranges|masterleases|peerserverleases)/.test(key)),
    ['compact_rev_key'],
  )
})

t.test('a prefix holds only what lies below its slash', async t => {
  const definitions = [definition({})]
  const registry = new Registry({ schema: schemaOf(), installed, definitions })
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['/registry/pods/shop/web', '/registry/pods/'],
    ['/registry/podsx/shop/web', undefined],
    ['/registry/pods', undefined],
    ['/registry/services/specs/shop/web', '/registry/services/specs/'],
    ['/registry/services/endpoints/shop/web', '/registry/services/endpoints/'],
    ['/registry/services/other/shop/web', undefined],
    ['/registry/minions/node', '/registry/minions/'],
    ['/registry/events/shop/e', '/registry/events/'],
    ['/registry/example.com/widgets/shop/w', '/registry/example.com/widgets/'],
    ['/registry/example.com/widgetsextra/shop/w', undefined],
    ['/registry/example.com/widgets', undefined],
    ['/registryx/pods/shop/web', undefined],
    ['compact_rev_key', undefined],
  ]
  for (const [key, expected] of cases) {
    t.equal(registry.keyspaceOf(keyFromText(key)), expected, key)
  }
})

t.test('another root, and prefixes of any depth, are found as well', async t => {
  const deep = { ...builtIn('pods'), storage: { ...builtIn('pods').storage!, prefix: '/x/a/b/c/' } }
  const registry = new Registry({
    schema: schemaOf(),
    installed: [...builtInResources(schemaOf(), '/other/root'), deep],
    etcdPrefix: '/other/root',
  })
  t.equal(registry.keyspaceOf(keyFromText('/other/root/pods/a/b')), '/other/root/pods/')
  t.equal(registry.keyspaceOf(keyFromText('/registry/pods/a/b')), undefined)
  t.equal(
    new Registry({ schema: schemaOf(), installed: [deep] }).keyspaceOf(keyFromText('/x/a/b/c/d')),
    '/x/a/b/c/',
  )
})

t.test('events of both groups share one keyspace', async t => {
  const found = new Registry({ schema: schemaOf(), installed })
    .keyspaces()
    .find(({ prefix }) => prefix === '/registry/events/')
  t.strictSame(
    found?.resources.map(({ group }) => group),
    ['', 'events.k8s.io'],
  )
})

t.test(
  'a definition is served once its names are accepted, and listed once it is established',
  async t => {
    const listed = (found: CustomDefinition): boolean => {
      const registry = new Registry({ schema: schemaOf(), installed, definitions: [found] })
      return (
        new Discovery({ registry, digests, serverAddress: '' }).group('example.com') !== undefined
      )
    }
    t.equal(definition({}, []).resources.length, 0)
    t.equal(definition({}, ['NamesAccepted']).resources.length, 1)
    t.equal(listed(definition({}, ['NamesAccepted'])), false)
    t.equal(listed(definition({}, ['Established'])), true)
    const terminating = definition({}, ['Established', 'Terminating']).resources[0]
    t.notOk(terminating?.verbs.includes('create'))
    t.ok(terminating?.custom?.isTerminating)
  },
)

t.test('versions that are not served are no resources, and each has its own fields', async t => {
  const properties = { a: { type: 'string' }, b: { type: 'integer' } }
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  const { resources } = definition({
    versions: [
      { name: 'v1', served: true, storage: true, schema, selectableFields: [{ jsonPath: '.a' }] },
      {
        name: 'v1beta1',
        served: true,
        schema,
        selectableFields: [{ jsonPath: '.b' }],
        deprecated: true,
      },
      { name: 'v1alpha1', served: false, schema },
    ],
    conversion: { strategy: 'Webhook' },
  })
  t.strictSame(
    resources.map(({ version, fields }) => [version, fields.map(({ label }) => label).join()]),
    [
      ['v1', 'metadata.name,metadata.namespace,a'],
      ['v1beta1', 'metadata.name,metadata.namespace,b'],
    ],
  )
  t.strictSame(resources[1]?.warnings, [
    'example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget',
  ])
  t.equal(resources[1]?.storage?.version, 'v1')
  t.equal(resources[1]?.storage?.conversion, 'webhook')
})

t.test('printer columns are read from either form of a definition', async t => {
  const column = { name: 'A', type: 'string', priority: 1 }
  const columnsOf = (spec: object): unknown =>
    definition(spec).resources[0]?.custom?.columns?.map(({ jsonPath, priority }) => [
      jsonPath,
      priority,
    ])
  t.strictSame(columnsOf({ additionalPrinterColumns: [{ ...column, JSONPath: '.a' }] }), [
    ['.a', 1],
  ])
  const versions = [{ name: 'v1', served: true, additionalPrinterColumns: [{ jsonPath: '.b' }] }]
  t.strictSame(columnsOf({ versions }), [['.b', 0]])
  t.equal(columnsOf({}), undefined)
})

t.test('only definitions of the old form keep what their schema does not have', async t => {
  const keeps = (apiVersion: string, spec: object): boolean | undefined => {
    const names = { plural: 'widgets', kind: 'Widget' }
    const stored = {
      apiVersion: `apiextensions.k8s.io/${apiVersion}`,
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', names, version: 'v1', ...spec },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    }
    const { resources } = customDefinition(jsonEntry('/x', stored), '/registry')
    return resources[0]?.custom?.preservesUnknownFields
  }
  t.equal(keeps('v1beta1', {}), true)
  t.equal(keeps('v1beta1', { preserveUnknownFields: false }), false)
  t.equal(keeps('v1', {}), false)
  t.equal(keeps('v1', { preserveUnknownFields: true }), true)
})

t.test('a deprecated version is warned of', async t => {
  t.equal(warningHeader('x "y"'), '299 - "x \\"y\\""')
  t.strictSame(builtIn('endpoints').warnings, [
    'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  ])
})

t.test('what is no definition is refused', async t => {
  for (const value of [null, 7, [], {}, { spec: { group: 'g' } }]) {
    t.throws(() => customDefinition(jsonEntry('/x', value), '/registry'), CacheError)
    if (typeof value !== 'object' || value === null) {
      t.throws(() => apiService(jsonEntry('/x', value)), CacheError)
    }
  }
  const bytes = Buffer.from('k8s:enc:aescbc:v1:key:...')
  const encrypted = Object.assign(jsonEntry('/x', 0), { bytes, start: 0, end: bytes.length })
  t.throws(() => customDefinition(encrypted, '/registry'), CacheError)
  t.throws(() => apiService(encrypted), CacheError)
})

t.test('invalid declarations of selectable fields are reported and ignored', async t => {
  const text = { type: 'string' }
  const many = Object.fromEntries('abcdefghij'.split('').map(name => [name, text]))
  const schema = {
    properties: {
      spec: {
        properties: {
          ...many,
          size: { type: 'integer' },
          on: { type: 'boolean' },
          port: { 'x-kubernetes-int-or-string': true },
          when: { type: 'string', format: 'date-time' },
          weight: { type: 'number' },
          list: { type: 'array', items: text },
          'a.b': text,
        },
      },
      metadata: { properties: { uid: text } },
    },
  }
  const found = (...paths: readonly string[]): { labels: string; problems: number } => {
    const { fields, problems } = selectableFields(
      paths.map(jsonPath => ({ jsonPath })),
      schema,
    )
    return { labels: fields.map(({ label }) => label).join(), problems: problems.length }
  }
  t.strictSame(found('.spec.size', '.spec.on', '.spec.port', '.spec.when'), {
    labels: 'spec.size,spec.on,spec.port,spec.when',
    problems: 0,
  })
  for (const path of [
    '',
    'spec.a',
    '.spec.weight',
    '.spec.list',
    '.spec.list[0]',
    '.spec.list[*]',
    '.spec',
    '.spec.none',
    '.spec.constructor',
    '.metadata.uid',
    '.spec..a',
  ]) {
    t.strictSame(found('.spec.a', path), { labels: 'spec.a', problems: 1 }, path)
  }
  t.strictSame(found('.spec.a', '.spec.a', ".spec['a']"), { labels: 'spec.a', problems: 2 })
  t.strictSame(found(...'abcdefghij'.split('').map(name => `.spec.${name}`)), {
    labels: 'abcdefgh'
      .split('')
      .map(name => `spec.${name}`)
      .join(),
    problems: 2,
  })
  t.strictSame(selectableFields('nonsense', schema), { fields: [], problems: [] })
})

t.test('versions are in the order of their stability', async t => {
  const sorted = [
    'v1',
    'v10',
    'foo',
    'v2beta1',
    'v1alpha1',
    'v2',
    'v1beta2',
    'v1alpha2',
    'bar',
    'v0',
  ]
  t.strictSame(sorted.sort(compareVersions), [
    'v10',
    'v2',
    'v1',
    'v2beta1',
    'v1beta2',
    'v1alpha2',
    'v1alpha1',
    'bar',
    'foo',
    'v0',
  ])
})

t.test('a definition or a service that cannot be read says so', async t => {
  const thrown = (read: () => unknown): string => {
    try {
      return JSON.stringify(read())
    } catch (error) {
      const { code, message } = error as CacheError
      return `${code}: ${message}`
    }
  }
  const names = { plural: 'widgets', kind: 'Widget' }
  const spec = { group: 'example.com', names }
  const metadata = { name: 'widgets.example.com' }
  for (const object of [
    { spec },
    { metadata, spec: { names } },
    { metadata, spec: { group: 'example.com', names: { kind: 'Widget' } } },
  ]) {
    t.equal(
      thrown(() => customDefinition(jsonEntry('/registry/x', object, 7), '/registry')),
      'unsupported: stored CustomResourceDefinition lacks its names',
    )
  }
  const broken = (text: string): Parameters<typeof apiService>[0] => {
    // As long as the object that it takes the place of.
    const entry = jsonEntry('/registry/x', { a: 1 }, 7)
    entry.bytes.fill(0x20, entry.start, entry.end)
    entry.bytes.set(Buffer.from(text), entry.start)
    return entry
  }
  t.equal(
    thrown(() => apiService(broken('{'))),
    'unsupported: stored APIService is not JSON',
  )
  t.equal(
    thrown(() => apiService(broken('[]'))),
    'unsupported: stored APIService is not an object',
  )
  const definitionOf = (text: string): string =>
    thrown(() => customDefinition(broken(text), '/registry'))
  t.equal(definitionOf('{'), 'unsupported: stored CustomResourceDefinition is not JSON')
  t.equal(definitionOf('[]'), 'unsupported: stored CustomResourceDefinition is not an object')
})

t.test('a version that is deprecated says which one to use, if one is better', async t => {
  const version = (name: string, served: boolean, deprecated?: boolean | string): object => ({
    name,
    served,
    storage: name === 'v1',
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...(typeof deprecated === 'string' ? { deprecationWarning: deprecated } : {}),
  })
  const warningsOf = (name: string, ...versions: readonly object[]): unknown =>
    definition({ versions: [version(name, true, true), ...versions] }).resources[0]?.warnings
  const old = 'example.com/v1beta1 Widget is deprecated'
  t.strictSame(warningsOf('v1beta1', version('v1', true)), [`${old}; use example.com/v1 Widget`])
  t.strictSame(warningsOf('v1beta1', version('v1', true), version('v2', true)), [
    `${old}; use example.com/v2 Widget`,
  ])
  t.strictSame(warningsOf('v1beta1', version('v1', false)), [old], 'one that is not served')
  t.strictSame(warningsOf('v1beta1', version('v1', true, true)), [old], 'one that is deprecated')
  t.strictSame(warningsOf('v1beta1', version('v1alpha1', true)), [old], 'one that is older')
  t.strictSame(warningsOf('v1beta1'), [old])
  const own = { versions: [version('v1', true, 'go away')] }
  t.strictSame(definition(own).resources[0]?.warnings, ['go away'])
})

t.test('a definition that stores no version is taken as one that stores the first', async t => {
  const versions = ['v1', 'v2'].map(name => ({ name, served: true, storage: false }))
  t.equal(definition({ versions }).resources[0]?.storage?.version, 'v1')
})

t.test('keys that end within the name of a resource belong to none', async t => {
  const registry = new Registry({ schema: schemaOf(), installed, definitions: [definition({})] })
  for (const key of [
    '/registry',
    '/registry/',
    '/registry/services',
    '/registry/services/',
    '/registry/services/specs',
    '/registry/services/endpoints',
    '/registry/example.com',
    '/registry/example.com/widget/a/b',
  ]) {
    t.equal(registry.keyspaceOf(keyFromText(key)), undefined, key)
  }
  t.equal(registry.keyspaceOf(keyFromText('/registry/pods/')), '/registry/pods/')
  t.equal(
    registry.keyspaceOf(keyFromText('/registry/services/specs/')),
    '/registry/services/specs/',
  )
})
