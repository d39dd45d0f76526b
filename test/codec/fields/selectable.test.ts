import { createSelectableReader } from '../../../lib/codec/fields/selectable-reader.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { historyBatches } from '../../golden/load.ts'
import { recordedReader, selectableKind } from '../../support/kube/selectable.ts'
import { entryOf } from '../../support/kube/outputs.ts'
import { protobuf } from '../../support/kube/stored-kinds.ts'
import { collector } from '../../support/program/collector.ts'
import { decodeStored, slowReader } from '../../support/kube/slow-selectable.ts'

const puts = historyBatches().flatMap(({ changes }) =>
  changes.flatMap(change => (change.type === 'put' ? [change.entry] : [])),
)

t.test(
  'every field and label of every recorded built-in object reads as by decoding it',
  async t => {
    let count = 0
    for (const resource of builtInResources(schemaOf())) {
      if (resource.storage === undefined) continue
      const entries = puts.filter(({ key }) =>
        key.startsWith(keyFromText(resource.storage!.prefix)),
      )
      const reader = recordedReader(resource, resource.fields, true)
      const slow = slowReader(resource, resource.fields, true)
      for (const entry of entries) {
        if (reader.read(entry) !== undefined) {
          t.fail(`${textFromKey(entry.key)} cannot be read`)
          continue
        }
        slow.read(entry)
        for (const field of resource.fields) {
          if (field.paths.some(path => path.endsWith('.ip'))) continue
          if (reader.field(field) !== slow.field(field)) {
            t.equal(
              reader.field(field),
              slow.field(field),
              `${textFromKey(entry.key)} ${field.label}`,
            )
          }
          count++
        }
        const labels = labelsOf(decodeStored(entry))
        const keys = new Set<string>()
        reader.eachLabel(key => keys.add(key))
        const isSame = Object.keys(labels).every(key => keys.has(key))
        const isKnown = [...keys].every(key => reader.label(key) !== undefined)
        if (!isSame || !isKnown) t.fail(`${textFromKey(entry.key)} names other labels`)
        for (const [key, value] of Object.entries({ ...labels, 'no such': undefined })) {
          if (reader.label(key) !== value) t.equal(reader.label(key), value, textFromKey(entry.key))
          count++
        }
      }
    }
    t.ok(count > 3000, `${count} values compared`)
  },
)

const schemas = {
  v1: { properties: { spec: { properties: { host: {}, opt: { default: 'one' } } } } },
  v2: { properties: { spec: { properties: { host: {}, opt: { default: 'two' } } } } },
}
const gadget = new CustomKind({
  group: 'example.com',
  kind: 'Gadget',
  versions: Object.entries(schemas).map(([name, schema]) => ({ name, schema })),
  preservesUnknownFields: false,
  conversion: 'none',
})
const fieldOf = (path: string) => ({ label: path, paths: [path], fallback: '' })
const storedGadget = (spec: object, version = 'v1', labels = {}) => {
  const bytes = Buffer.from(
    JSON.stringify({
      apiVersion: `example.com/${version}`,
      kind: 'Gadget',
      metadata: { labels },
      spec,
    }),
  )
  return { bytes, start: 0, end: bytes.length }
}
const gadgetKind = (version: string, custom: CustomKind | undefined) => ({
  schema: schemaOf(),
  version,
  stored: { apiVersion: 'example.com/v1', kind: 'Gadget' },
  custom,
})

t.test('fields of custom resources have the defaults of the stored version', async t => {
  const opt = fieldOf('spec.opt')
  const host = fieldOf('spec.host')
  const reader = createSelectableReader(gadgetKind('v2', gadget), [opt, host], true)
  t.equal(reader.read(storedGadget({ host: 'a' }, 'v1', { app: 'x' })), undefined)
  t.equal(reader.field(opt), 'one')
  t.equal(reader.field(host), 'a')
  t.equal(reader.label('app'), 'x')
  t.equal(reader.label('toString'), undefined)
  t.equal(reader.read(storedGadget({ opt: 7 }, 'v2')), undefined)
  t.equal(reader.field(opt), '7')
  t.equal(reader.field(host), '')
})

t.test('fields that would be pruned are empty', async t => {
  const gone = fieldOf('spec.gone')
  const reader = createSelectableReader(gadgetKind('v1', gadget), [gone], false)
  t.equal(reader.read(storedGadget({ gone: 'x' })), undefined)
  t.equal(reader.field(gone), '')
})

t.test(
  'a controller without labels has those of its pods, as the server fills them in',
  async t => {
    const controllers = builtInResources(schemaOf()).find(
      ({ resource }) => resource === 'replicationcontrollers',
    )!
    const label = (labels: object | undefined): string | undefined => {
      const value = protobuf({
        kind: 'ReplicationController',
        apiVersion: 'v1',
        metadata: { name: 'a', labels },
        spec: { template: { metadata: { labels: { app: 'pods' } } } },
      })
      const reader = recordedReader(controllers, [], true)
      t.equal(reader.read(entryOf('a', value)), undefined)
      return reader.label('app')
    }
    t.equal(label(undefined), 'pods')
    t.equal(label({}), 'pods')
    t.equal(label({ app: 'own' }), 'own')
    t.equal(label({ other: 'x' }), undefined)
  },
)

t.test('a field that is not stored has the default that the server fills in', async t => {
  const pods = builtInResources(schemaOf()).find(({ resource }) => resource === 'pods')!
  const reader = recordedReader(pods, pods.fields, false)
  const read = (spec: object): Record<string, string> => {
    const value = protobuf({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' }, spec })
    t.equal(reader.read(entryOf('a', value)), undefined)
    return Object.fromEntries(pods.fields.map(field => [field.label, reader.field(field)]))
  }
  t.match(read({ containers: [] }), {
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.nodeName': '',
  })
  t.match(read({ restartPolicy: 'Never', schedulerName: 'own', nodeName: 'n' }), {
    'spec.restartPolicy': 'Never',
    'spec.schedulerName': 'own',
    'spec.nodeName': 'n',
  })
})

t.test('names with dots in them are escaped in paths', async t => {
  const dotted = fieldOf(String.raw`spec.a\.b`)
  const reader = createSelectableReader(gadgetKind('v1', undefined), [dotted], false)
  t.equal(reader.read(storedGadget({ 'a.b': true })), undefined)
  t.equal(reader.field(dotted), 'true')
})

t.test('what cannot be read says why', async t => {
  const pods = builtInResources(schemaOf()).find(({ resource }) => resource === 'pods')!
  const reader = createSelectableReader(selectableKind(pods), pods.fields, true)
  const webhook = new CustomKind({
    group: 'example.com',
    kind: 'Gadget',
    versions: [
      { name: 'v1', schema: undefined },
      { name: 'v2', schema: undefined },
    ],
    preservesUnknownFields: true,
    conversion: 'webhook',
  })
  const custom = createSelectableReader(gadgetKind('v2', webhook), [], true)
  const reasons = [
    reader.read(window('k8s:enc:aescbc:v1:x')),
    reader.read(window('')),
    reader.read(window('\u001f\u008b..')),
    reader.read(window('what')),
    reader.read(window('k8s\0\u000a\u0001')),
    reader.read(window('k8s\0\u000a\u000c\u000a\u0002v1\u0012\u0006Secret\u0012\u0000')),
    reader.read(window('{"kind":"Pod"')),
    reader.read(window('{"kind":"Secret"}')),
    custom.read(storedGadget({})),
  ]
  t.matchOnly(
    reasons.map(reason => (reason instanceof NotExact ? reason.reason : '')),
    [
      'value is encrypted',
      'value is empty',
      'value is compressed',
      'value is neither protobuf nor JSON',
      'envelope is malformed',
      'stored value is of another kind',
      'object is malformed',
      'stored value is of another kind',
      'value needs a conversion webhook',
    ],
  )
})

function window(text: string) {
  const bytes = Buffer.from(text, 'latin1')
  return { bytes, start: 0, end: bytes.length }
}

function labelsOf(object: unknown): Readonly<Record<string, string>> {
  return (object as { metadata?: { labels?: Record<string, string> } }).metadata?.labels ?? {}
}

t.test('labels that clients make up are not kept', t => {
  const configMaps = builtInResources(schemaOf()).find(one => one.resource === 'configmaps')
  const entry = puts.find(({ key }) => key.startsWith(keyFromText('/registry/configmaps/')))
  if (configMaps === undefined || entry === undefined) throw new Error('no ConfigMap is recorded')
  const reader = recordedReader(configMaps, [], true)
  t.equal(reader.read(entry), undefined)
  const collect = collector()
  collect()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 100_000; i++) reader.label(`${i}`.padEnd(200, 'x'))
  collect()
  const grown = process.memoryUsage().heapUsed - before
  t.ok(grown < 5 * 1024 ** 2, `${grown} bytes, and 20 MB were asked for`)
  t.equal(reader.label('none'), undefined, 'the reader is still there')
  t.end()
})
