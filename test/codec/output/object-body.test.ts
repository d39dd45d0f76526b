import t from 'tap'
import { ObjectEncoder, includedObject } from '../../../lib/codec/output/object-encoder.ts'
import { type MediaType, renderingMismatch } from '../../../lib/codec/negotiate/negotiate.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import {
  invalidIncludeObject,
  objectBody,
  statusBody,
} from '../../../lib/codec/output/object-body.ts'
import { goTypeOf } from '../../../lib/codec/output-kind.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import {
  builtIn,
  configMap,
  configMaps,
  created,
  decodedCbor,
  entryOf,
  exact,
  shownAs,
  widget,
  widgetEncoder,
} from '../../support/kube/outputs.ts'

const encoder = new ObjectEncoder(configMaps, undefined)
const json = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"team","resourceVersion":"7","creationTimestamp":"${created}"},"data":{"a":"b"}}\n`

t.test('an object is a line of JSON, or is indented without a line feed', async t => {
  const plain = objectBody(encoder, configMap('a'), { form: shownAs(), isPretty: false })
  t.equal(exact(plain).toString(), json)
  const pretty = objectBody(encoder, configMap('a'), { form: shownAs(), isPretty: true })
  t.equal(exact(pretty).toString(), JSON.stringify(JSON.parse(json), undefined, 2))
})

t.test('an object says the same in every encoding', async t => {
  const body = (encoding: 'yaml' | 'protobuf' | 'cbor'): Buffer =>
    exact(objectBody(encoder, configMap('a'), { form: shownAs({ encoding }), isPretty: false }))
  const protobuf = jsonFromProtobuf(body('protobuf'))
  t.equal(protobuf instanceof NotExact ? protobuf.reason : Buffer.from(protobuf).toString(), json)
  t.same(decodedCbor(body('cbor')), JSON.parse(json))
  t.equal(
    body('yaml').toString(),
    `apiVersion: v1\ndata:\n  a: b\nkind: ConfigMap\nmetadata:\n  creationTimestamp: "${created}"\n  name: a\n  namespace: team\n  resourceVersion: "7"\n`,
  )
})

t.test('one object has a Table of one row', async t => {
  const form = shownAs({ rendering: 'Table', includeObject: 'Object' })
  const body = objectBody(encoder, configMap('a'), { form, isPretty: false })
  const table = JSON.parse(exact(body).toString()) as {
    metadata: object
    rows: { cells: unknown[]; object: object }[]
  }
  t.same(table.metadata, { resourceVersion: '7' })
  t.same(table.rows, [{ cells: ['a', 1, '24h'], object: JSON.parse(json) as object }])
})

t.test('metadata alone is its own kind of object, of protobuf and of JSON objects', async t => {
  const form = shownAs({ rendering: 'PartialObjectMetadata' })
  const metadata = `{"name":"a","namespace":"team","resourceVersion":"7","creationTimestamp":"${created}"}`
  const body = exact(objectBody(encoder, configMap('a'), { form, isPretty: false })).toString()
  t.equal(
    body,
    `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":${metadata}}\n`,
  )
  const protobuf = { ...form, encoding: 'protobuf' } as const
  for (const [of, entry] of [
    [encoder, configMap('a')],
    [widgetEncoder(), widget('a')],
  ] as const) {
    const text = exact(objectBody(of, entry, { form, isPretty: false })).toString()
    const bytes = exact(objectBody(of, entry, { form: protobuf, isPretty: false }))
    const made = jsonFromProtobuf(bytes)
    t.equal(made instanceof NotExact ? made.reason : Buffer.from(made).toString(), text)
  }
})

t.test('an object that cannot be read has no body', async t => {
  const broken = entryOf('x', Buffer.from('k8s\0broken'))
  for (const encoding of ['json', 'yaml', 'protobuf', 'cbor'] as const) {
    for (const rendering of ['object', 'Table', 'PartialObjectMetadata'] as const) {
      if (rendering === 'Table' && encoding === 'protobuf') continue
      const form = shownAs({ encoding, rendering })
      t.type(
        objectBody(encoder, broken, { form, isPretty: false }),
        NotExact,
        `${encoding} ${rendering}`,
      )
    }
  }
})

t.test(
  'a Status is written as the client asked, and indented when it asked for nothing we have',
  async t => {
    const status =
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}\n'
    const asked = (encoding: MediaType['encoding'], isPretty = false): Buffer =>
      Buffer.from(
        statusBody(status, {
          encoding,
          rendering: 'object',
          renderingVersion: 'v1',
          isPretty,
        } as MediaType),
      )
    const indented = JSON.stringify(JSON.parse(status), undefined, 2)
    t.equal(asked('json').toString(), status)
    t.equal(asked('json', true).toString(), indented)
    t.equal(Buffer.from(statusBody(status, undefined)).toString(), indented)
    t.match(asked('yaml').toString(), /^apiVersion: v1\ncode: 404\ndetails:\n {2}kind: pods\n/)
    t.same(decodedCbor(asked('cbor')), JSON.parse(status))
    const protobuf = jsonFromProtobuf(asked('protobuf'))
    t.equal(
      protobuf instanceof NotExact ? protobuf.reason : Buffer.from(protobuf).toString(),
      status,
    )
    // A message that the client sent, and that we would not write in YAML as the upstream does.
    const odd = status.replace('"no"', '"\u007f"')
    const media = {
      encoding: 'yaml',
      rendering: 'object',
      renderingVersion: 'v1',
      isPretty: false,
    } as MediaType
    t.equal(Buffer.from(statusBody(odd, media)).toString(), odd)
  },
)

t.test('renderings of lists are for lists', async t => {
  t.equal(
    renderingMismatch(configMaps, { rendering: 'PartialObjectMetadata' }, true),
    'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
  )
  t.equal(
    renderingMismatch(configMaps, { rendering: 'PartialObjectMetadataList' }, false),
    'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
  )
  t.equal(renderingMismatch(configMaps, { rendering: 'Table' }, true), undefined)
  t.equal(
    renderingMismatch(configMaps, { rendering: 'PartialObjectMetadataList' }, true),
    undefined,
  )
})

t.test('Go types are named by their internal package', async t => {
  t.equal(goTypeOf(builtIn({ group: 'apps', kind: 'Deployment' }), false), '*apps.Deployment')
  t.equal(
    goTypeOf(builtIn({ group: 'rbac.authorization.k8s.io', kind: 'Role' }), true),
    '*rbac.RoleList',
  )
  t.equal(goTypeOf(builtIn({ group: 'events.k8s.io', kind: 'Event' }), false), '*core.Event')
  t.equal(
    goTypeOf(builtIn({ group: 'internal.apiserver.k8s.io', kind: 'StorageVersion' }), false),
    '*apiserverinternal.StorageVersion',
  )
  const { kind: widgets } = widgetEncoder()
  t.equal(goTypeOf(widgets, false), '*unstructured.Unstructured')
  t.equal(goTypeOf(widgets, true), '*unstructured.UnstructuredList')
})

t.test('includeObject is one of three words, or empty', async t => {
  t.equal(includedObject(''), 'Metadata')
  for (const word of ['None', 'Metadata', 'Object']) t.equal(includedObject(word), word)
  t.equal(includedObject('none'), undefined)
  t.equal(
    invalidIncludeObject('a"b'),
    `Unable to convert to Table as requested: includeObject: Invalid value: "a\\"b": must be 'Metadata', 'Object', 'None', or empty`,
  )
})
