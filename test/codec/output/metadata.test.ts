import { strictEqual } from 'node:assert'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { readEnvelope, findMetadata } from '../../../lib/codec/transcode/envelope.ts'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import { appendMetadataProtobuf } from '../../../lib/codec/output/metadata.ts'
import { findJsonMetadata, protobufMetadata } from '../../../lib/codec/output/metadata-json.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { objectBody } from '../../../lib/codec/output/object-body.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import type { StoredValue } from '../../../lib/codec/stored-value.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import {
  builtIn,
  entryOf,
  exact,
  shownAs,
  stored,
  widget,
  widgetEncoder,
} from '../../support/kube/outputs.ts'
import { loadVectors } from '../transcode/vectors.ts'

const partial = shownAs({ rendering: 'PartialObjectMetadata' })
const head = '{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'

const filledIn = ['Job', 'Namespace', 'ReplicationController']

function shown(encoder: ObjectEncoder, entry: KeyValue, as: OutputForm = partial): string {
  const body = objectBody(encoder, entry, { form: as, isPretty: false })
  if (body instanceof NotExact) return body.reason
  if (as.encoding === 'json') return Buffer.from(body).toString()
  const json = jsonFromProtobuf(body)
  return json instanceof NotExact ? json.reason : Buffer.from(json).toString()
}

function metadataOf(json: string): string {
  const bytes = Buffer.from(json)
  const found = findJsonMetadata({ bytes, start: 0, end: bytes.length })
  if (found instanceof NotExact) throw new Error(found.reason)
  return Buffer.from(found.bytes.subarray(found.start, found.end)).toString()
}

t.test(
  'metadata alone says what the whole object says, for random objects of every kind',
  async t => {
    let compared = 0
    for (const { apiVersion, kind, pb } of loadVectors()) {
      const slash = apiVersion.indexOf('/')
      const [group, version] = [
        apiVersion.slice(0, Math.max(0, slash)),
        apiVersion.slice(slash + 1),
      ]
      // Some annotations of these are not shown with their metadata alone.
      if (['DaemonSet', 'Deployment', 'HorizontalPodAutoscaler'].includes(kind)) continue
      const encoder = new ObjectEncoder(builtIn({ group, version, kind }), undefined)
      const entry = entryOf('x', pb)
      const whole = shown(encoder, entry, shownAs())
      if (!whole.startsWith('{')) continue
      const expected = `${head}${metadataOf(whole)}}\n`
      strictEqual(shown(encoder, entry), expected)
      // What goes by way of JSON cannot tell a time that is null from one that is not there.
      if (!filledIn.includes(kind) || !expected.includes(':null')) {
        strictEqual(shown(encoder, entry, { ...partial, encoding: 'protobuf' }), expected)
      }
      compared++
    }
    t.ok(compared > 100, `${compared} compared`)
  },
)

t.test('what Go leaves out of the metadata of a custom resource is left out', async t => {
  const empty = {
    name: 'w',
    generateName: '',
    selfLink: '',
    generation: 0,
    labels: {},
    annotations: null,
    finalizers: [],
    ownerReferences: [{ apiVersion: '', kind: 'K', name: '', uid: 'u', controller: false }],
    managedFields: [{ manager: '', operation: 'Update', subresource: '', fieldsV1: {} }],
    deletionTimestamp: null,
    deletionGracePeriodSeconds: null,
  }
  const [encoder, entry] = [
    widgetEncoder(),
    entryOf(
      'x',
      Buffer.from(
        JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: empty }),
      ),
    ),
  ]
  const owner = '{"apiVersion":"","kind":"K","name":"","uid":"u","controller":false}'
  const manager = '{"operation":"Update","fieldsV1":{}}'
  t.equal(
    shown(encoder, entry),
    `${head}{"name":"w","resourceVersion":"7","generation":1,"ownerReferences":[${owner}],"managedFields":[${manager}]}}\n`,
  )
})

t.test(
  'metadata of custom resources is written in the order of Go, empty members left out',
  async t => {
    const object = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: {
        annotations: {},
        creationTimestamp: '2026-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 0,
        deletionTimestamp: '2026-01-01T01:00:00Z',
        finalizers: ['a/b'],
        generation: 2,
        labels: { a: 'b' },
        managedFields: [
          {
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:spec': {} },
            manager: 'm',
            operation: 'Update',
            time: '2026-01-01T00:00:00Z',
          },
        ],
        name: 'w',
        ownerReferences: [
          { apiVersion: 'v1', blockOwnerDeletion: false, kind: 'Pod', name: 'p', uid: 'u' },
        ],
      },
    }
    const expected =
      '{"name":"w","resourceVersion":"7","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T01:00:00Z","deletionGracePeriodSeconds":0,"labels":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","blockOwnerDeletion":false}],"finalizers":["a/b"],"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]}'
    const entry = entryOf('w', Buffer.from(`${JSON.stringify(object)}\n`))
    const encoder = widgetEncoder()
    t.equal(shown(encoder, entry), `${head}${expected}}\n`)
    t.equal(shown(encoder, entry, { ...partial, encoding: 'protobuf' }), `${head}${expected}}\n`)
  },
)

t.test('metadata that the server fills in from the rest of the object is filled in', async t => {
  const template = { metadata: { labels: { from: 'template' } }, spec: { containers: [] } }
  const job = (labels?: object): string => {
    const object = {
      kind: 'Job',
      apiVersion: 'batch/v1',
      metadata: { name: 'j', labels },
      spec: { template, completions: 1, parallelism: 1, backoffLimit: 6 },
    }
    const encoder = new ObjectEncoder(builtIn({ group: 'batch', kind: 'Job' }), undefined)
    return shown(encoder, entryOf('j', stored(object)))
  }
  t.equal(job(), `${head}{"name":"j","resourceVersion":"7","labels":{"from":"template"}}}\n`)
  t.equal(
    job({ its: 'own' }),
    `${head}{"name":"j","resourceVersion":"7","labels":{"its":"own"}}}\n`,
  )
  const namespaces = new ObjectEncoder(builtIn({ kind: 'Namespace' }), undefined)
  const bare = { kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'n' } }
  t.equal(
    shown(namespaces, entryOf('n', stored(bare))),
    `${head}{"name":"n","resourceVersion":"7","labels":{"kubernetes.io/metadata.name":"n"}}}\n`,
  )
})

t.test('annotations that the server holds elsewhere are not shown with metadata alone', async t => {
  const object = {
    kind: 'DaemonSet',
    apiVersion: 'apps/v1',
    metadata: {
      name: 'd',
      annotations: { a: 'b', 'deprecated.daemonset.template.generation': '3' },
    },
  }
  const encoder = new ObjectEncoder(builtIn({ group: 'apps', kind: 'DaemonSet' }), undefined)
  const expected = `${head}{"name":"d","resourceVersion":"7","annotations":{"a":"b"}}}\n`
  t.equal(shown(encoder, entryOf('d', stored(object))), expected)
  t.equal(
    shown(encoder, entryOf('d', stored(object)), { ...partial, encoding: 'protobuf' }),
    expected,
  )
  const table = shownAs({ rendering: 'Table' })
  t.match(shown(encoder, entryOf('d', stored(object)), table), '"annotations":{"a":"b"}')
  const only = {
    ...object,
    metadata: { name: 'd', annotations: { 'deprecated.daemonset.template.generation': '3' } },
  }
  t.equal(
    shown(encoder, entryOf('d', stored(only))),
    `${head}{"name":"d","resourceVersion":"7"}}\n`,
  )
})

t.test(
  'the revision takes the place of one that is stored, or its own among the fields',
  async t => {
    const out = new ByteWriter()
    const spliced = (fields: readonly (readonly [field: number, text: string])[]): number[] => {
      const bytes = Buffer.concat(
        fields.map(([field, text]) =>
          Buffer.concat([Buffer.of(field * 8 + 2, text.length), Buffer.from(text)]),
        ),
      )
      out.clear()
      const window = { bytes, start: 0, end: bytes.length }
      appendMetadataProtobuf(out, window, {
        schema: schemaOf(),
        resourceVersion: '7',
        lostAnnotations: [],
      })
      return [...out.copy()].filter(
        (byte, i, all) => i === 0 || all[i - 1] === byte + 1 || byte % 8 === 2,
      )
    }
    const tags = (numbers: readonly number[]): number[] => numbers.map(number => number * 8 + 2)
    t.same(
      spliced([
        [1, ''],
        [5, ''],
      ]),
      tags([1, 5, 6]),
    )
    t.same(
      spliced([
        [1, ''],
        [6, ''],
        [12, ''],
      ]),
      tags([1, 6, 12]),
    )
    t.same(spliced([[8, '']]), tags([6, 8]))
    t.same(spliced([]), tags([6]))
  },
)

t.test('metadata that is malformed is not exact, and leaves nothing behind', async t => {
  const out = new ByteWriter()
  const cut: StoredValue = { bytes: Buffer.of(0x0a, 0x05, 0x61), start: 0, end: 3 }
  for (const lostAnnotations of [[], ['x']]) {
    const problem = appendMetadataProtobuf(out, cut, {
      schema: schemaOf(),
      resourceVersion: '7',
      lostAnnotations,
    })
    t.type(problem, NotExact)
    t.equal(out.length, 0)
  }
  // An object that begins with something else.
  t.type(findMetadata(Buffer.of(0x12, 0x00), 0, 2), NotExact)
  t.type(findMetadata(Buffer.of(0x0a, 0x05), 0, 2), NotExact)
  const nothing = findMetadata(Buffer.alloc(0), 0, 0)
  t.notMatch(nothing, NotExact)
  const text = Buffer.from('[1]')
  t.type(findJsonMetadata({ bytes: text, start: 0, end: 3 }), NotExact)
  const wrong = Buffer.from('{"name":1}')
  t.type(protobufMetadata({ bytes: wrong, start: 0, end: wrong.length }), NotExact)
})

t.test('an object without anything still has metadata', async t => {
  const value = stored({ kind: 'ConfigMap', apiVersion: 'v1' })
  const envelope = readEnvelope(value, 0, value.length)
  if (envelope instanceof NotExact) throw new Error(envelope.reason)
  const encoder = new ObjectEncoder(builtIn({ kind: 'ConfigMap' }), undefined)
  t.equal(shown(encoder, entryOf('x', value)), `${head}{"resourceVersion":"7"}}\n`)
  t.ok(
    exact(objectBody(widgetEncoder(), widget('w'), { form: partial, isPretty: false })).length > 0,
  )
})

t.test('an object without metadata, or that is no JSON, says which of the two', async t => {
  const reasonOf = (json: string): unknown => {
    const bytes = Buffer.from(json)
    const found = findJsonMetadata({ bytes, start: 0, end: bytes.length })
    return found instanceof NotExact ? found.reason : 'found'
  }
  t.equal(reasonOf('{"a":1}'), 'object has no metadata')
  t.equal(reasonOf('{"a":1'), 'value is not JSON')
  t.equal(reasonOf('{"metadata":{}}'), 'found')
})
