import t from 'tap'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import {
  type FrameEvent,
  bookmarkFrame,
  errorFrame,
  eventFrame,
  frameWithColumns,
} from '../../../lib/codec/output/frames.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import {
  builtIn,
  configMap,
  configMaps,
  created,
  entryOf,
  exact,
  shownAs,
  widget,
  widgetEncoder,
  decodedCbor,
} from '../../support/kube/outputs.ts'

const encoder = new ObjectEncoder(configMaps, undefined)
const added: FrameEvent = { type: 'ADDED', entry: configMap('a'), revision: 12 }
const status =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}\n'

function frame(form: Partial<OutputForm> = {}, hasColumns = false, of = encoder): Buffer {
  return exact(eventFrame(of, added, { form: shownAs(form), hasColumns }))
}

function bookmark(form: Partial<OutputForm>, endsInitialEvents = false, of = encoder): Buffer {
  const options = { form: shownAs(form), hasColumns: false }
  return exact(bookmarkFrame(of, { revision: 30, endsInitialEvents }, options))
}

t.test('a frame of JSON is one line', async t => {
  t.equal(
    frame().toString(),
    `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"team","resourceVersion":"12","creationTimestamp":"${created}"},"data":{"a":"b"}}}\n`,
  )
})

t.test('a frame of protobuf says its length first, and holds a whole object', async t => {
  const bytes = frame({ encoding: 'protobuf' })
  t.equal(bytes.readUInt32BE(0), bytes.length - 4)
  const object = jsonFromProtobuf(bytes, bytes.indexOf('k8s\0'))
  t.equal(
    object instanceof NotExact ? object.reason : `{"type":"ADDED","object":${line(object)}}\n`,
    frame().toString(),
  )
})

t.test('frames of CBOR follow each other, each a tagged map', async t => {
  for (const rendering of ['object', 'Table', 'PartialObjectMetadata'] as const) {
    const { type, object } = decodedCbor(frame({ encoding: 'cbor', rendering })) as Event
    t.equal(type, 'ADDED')
    t.same(object, (JSON.parse(frame({ rendering }).toString()) as Event).object, rendering)
  }
  const { object } = decodedCbor(bookmark({ encoding: 'cbor' })) as Event
  t.same(object, (JSON.parse(bookmark({}).toString()) as Event).object)
})

t.test('a Table tells its columns only when asked, or when a shared frame gets them', async t => {
  const with_ = frame({ rendering: 'Table' }, true).toString()
  const without = frame({ rendering: 'Table' })
  t.match(with_, '"columnDefinitions":[{"name":"Name"')
  t.match(without.toString(), '"columnDefinitions":null')
  t.equal(Buffer.from(frameWithColumns(without, encoder, shownAs())).toString(), with_)
  t.equal(frameWithColumns(frame(), encoder, shownAs()).toString(), frame().toString())
  const cbor = { rendering: 'Table', encoding: 'cbor' } as const
  const shared = frameWithColumns(frame(cbor), encoder, shownAs(cbor))
  t.same(decodedCbor(shared), decodedCbor(frame(cbor, true)))
  t.same(decodedCbor(shared), JSON.parse(with_))
})

t.test('a bookmark is an object with nothing in it but where it stands', async t => {
  t.equal(
    bookmark({}, true).toString(),
    '{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"30","annotations":{"k8s.io/initial-events-end":"true"}}}}\n',
  )
  t.equal(
    bookmark({ rendering: 'PartialObjectMetadata', renderingVersion: 'v1beta1' }).toString(),
    '{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":{"resourceVersion":"30"}}}\n',
  )
  t.equal(
    bookmark({}, false, widgetEncoder()).toString(),
    '{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"resourceVersion":"30"}}}\n',
  )
  const table = (includeObject: OutputForm['includeObject']): unknown => {
    const event = JSON.parse(bookmark({ rendering: 'Table', includeObject }).toString()) as {
      object: { rows: { cells: unknown[]; object: { kind: string } | null }[] }
    }
    return event.object.rows.map(({ cells, object }) => [...cells, object?.kind])
  }
  t.same(table('None'), [['', 0, '<unknown>', undefined]])
  t.same(table('Metadata'), [['', 0, '<unknown>', 'PartialObjectMetadata']])
  t.same(table('Object'), [['', 0, '<unknown>', 'ConfigMap']])
})

t.test('a bookmark of a kind that Go never leaves empty', async t => {
  const of = (kind: string, group: string, form: Partial<OutputForm> = {}): Buffer =>
    bookmark(form, false, new ObjectEncoder(builtIn({ kind, group }), undefined))
  const spec = (kind: string): unknown => {
    const { object } = JSON.parse(of(kind, 'apps').toString()) as { object: { spec?: object } }
    return object.spec
  }
  for (const kind of ['Deployment', 'ReplicaSet', 'StatefulSet']) {
    t.match(spec(kind), { replicas: 0 }, kind)
  }
  t.match(
    of('DaemonSet', 'apps').toString(),
    '"annotations":{"deprecated.daemonset.template.generation":"0"}',
  )
  t.match(
    bookmark(
      {},
      true,
      new ObjectEncoder(builtIn({ kind: 'DaemonSet', group: 'apps' }), undefined),
    ).toString(),
    '"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"}',
  )
})

t.test('a bookmark is the same object in every encoding', async t => {
  const json = JSON.parse(bookmark({}, true).toString()) as Event
  const bytes = bookmark({ encoding: 'protobuf' }, true)
  t.equal(bytes.readUInt32BE(0), bytes.length - 4)
  const object = jsonFromProtobuf(bytes, bytes.indexOf('k8s\0'))
  t.same(JSON.parse(object instanceof NotExact ? '' : line(object)), json.object)
  for (const rendering of ['Table', 'PartialObjectMetadata'] as const) {
    const cbor = decodedCbor(bookmark({ encoding: 'cbor', rendering }, true))
    t.same(cbor, JSON.parse(bookmark({ rendering }, true).toString()), rendering)
  }
})

t.test('a gate is asked about each event, as an object alone', async t => {
  const asked: string[] = []
  const objection = (_: unknown, place: string): NotExact => {
    asked.push(place)
    return new NotExact('not yet')
  }
  const gate = { name: 'g', objection }
  for (const form of [{}, { encoding: 'protobuf' }, { rendering: 'Table' }] as const) {
    const made = eventFrame(encoder, added, { form: shownAs({ ...form, gate }), hasColumns: false })
    t.equal(made instanceof NotExact && made.reason, 'not yet')
  }
  t.strictSame(asked, ['alone', 'alone', 'alone'])
})

t.test('an error is a Status, in every encoding', async t => {
  const text = `{"type":"ERROR","object":${status.trimEnd()}}\n`
  t.equal(errorFrame(status, { encoding: 'json' }).toString(), text)
  const protobuf = Buffer.from(errorFrame(status, { encoding: 'protobuf' }))
  t.equal(protobuf.readUInt32BE(0), protobuf.length - 4)
  const object = jsonFromProtobuf(protobuf, protobuf.indexOf('k8s\0'))
  t.equal(object instanceof NotExact ? object.reason : line(object), status.trimEnd())
  const cbor = decodedCbor(Buffer.from(errorFrame(status, { encoding: 'cbor' }))) as Event
  t.same(cbor, JSON.parse(text))
})

t.test('what cannot be told exactly is not told', async t => {
  const options = { form: shownAs(), hasColumns: false }
  const broken = { ...added, entry: entryOf('x', Buffer.from('k8s\0broken')) }
  t.type(eventFrame(encoder, broken, options), NotExact)
  t.type(
    eventFrame(encoder, broken, { ...options, form: shownAs({ encoding: 'protobuf' }) }),
    NotExact,
  )
  const list = shownAs({ rendering: 'PartialObjectMetadataList' })
  t.type(eventFrame(encoder, added, { form: list, hasColumns: false }), NotExact)
  const protobuf = shownAs({ encoding: 'protobuf' })
  const custom = { ...added, entry: widget('w') }
  t.type(eventFrame(widgetEncoder(), custom, { form: protobuf, hasColumns: false }), NotExact)
  // None of that leaves anything behind.
  t.match(frame().toString(), /^\{"type":"ADDED","object":\{"kind":"ConfigMap"/)
})

interface Event {
  readonly type: string
  readonly object: object
}

function line(json: Uint8Array): string {
  return Buffer.from(json).toString().trimEnd()
}

t.test('an event is never a list', async t => {
  const form = shownAs({ rendering: 'PartialObjectMetadataList' })
  const made = eventFrame(encoder, added, { form, hasColumns: false })
  t.equal(
    made instanceof NotExact ? made.reason : '',
    'an event is about one object, and a list was asked for',
  )
})
