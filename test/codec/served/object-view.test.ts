import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import {
  appendObject,
  appendObjectProtobuf,
  formatOf,
  servedProtobuf,
} from '../../../lib/codec/served/object-view.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'

const out = new ByteWriter()
const fischer = {
  schema: schemaOf(),
  apiVersion: 'wardle.example.com/v1',
  kind: 'Fischer',
  custom: undefined,
}

/** A kind of an aggregated server, of which nothing but its existence is known. */
const learned = {} as NonNullable<Parameters<typeof servedProtobuf>[1]['learned']>

function valueOf(text: string | Uint8Array) {
  const bytes = Buffer.from(text)
  return { bytes, start: 0, end: bytes.length }
}

/** The served form of an aggregated server's stored text, or the reason why there is none. */
function declared(text: string, isItem = false): string {
  out.clear()
  out.appendAscii('before ')
  const problem = appendObject(out, valueOf(text), fischer, { resourceVersion: '8', isItem })
  const written = Buffer.from(out.copy()).toString().slice('before '.length)
  if (problem !== undefined && written !== '') throw new Error('something was appended')
  return problem?.reason ?? written
}

const head = '{"kind":"Fischer","apiVersion":"wardle.example.com/v1",'

t.test('objects of aggregated servers get their resourceVersion where Go declares it', async t => {
  const cases: readonly (readonly [string, string])[] = [
    [
      '{"name":"a","uid":"u","labels":{"b":"c"}}',
      '{"name":"a","uid":"u","resourceVersion":"8","labels":{"b":"c"}}',
    ],
    ['{"name":"a","uid":"u"}', '{"name":"a","uid":"u","resourceVersion":"8"}'],
    ['{"creationTimestamp":null}', '{"resourceVersion":"8","creationTimestamp":null}'],
    ['{}', '{"resourceVersion":"8"}'],
    [
      '{"name":"a","resourceVersion":"","generation":2}',
      '{"name":"a","resourceVersion":"8","generation":2}',
    ],
  ]
  for (const [stored, wanted] of cases) {
    const rest = ',"spec":{"z":1,"a":[1.5,"\\u003c"]},"status":{}}'
    t.equal(declared(`${head}"metadata":${stored}${rest}\n`), `${head}"metadata":${wanted}${rest}`)
    t.equal(declared(`${head}"metadata":${stored}${rest}`, true), `{"metadata":${wanted}${rest}`)
  }
})

t.test('objects of aggregated servers that Go would write otherwise are not exact', async t => {
  const bad = [
    `${head}"metadata":{}, "spec":{}}`,
    `${head}"metadata":{},"spec":"<"}`,
    `${head}"metadata":{},"spec":1.0}`,
    `${head}"metadata":{},"metadata":{}}`,
    `${head}"spec":{}}`,
    `${head}"metadata":[]}`,
    head,
    '{"kind":"Fischer","apiVersion":"wardle.example.com/v2","metadata":{}}',
    '{"kind":"Flunder","apiVersion":"wardle.example.com/v1","metadata":{}}',
    '{"metadata":{}}',
  ]
  for (const text of bad) t.notMatch(declared(text), /^\{/, text)
  const swapped = '{"apiVersion":"wardle.example.com/v1","kind":"Fischer","metadata":{}}'
  t.match(declared(swapped), /^\{/)
  t.equal(declared(swapped, true), 'object does not begin with its kind and apiVersion')
})

t.test('the first bytes of a value tell how it is written', async t => {
  const formats: readonly (readonly [string | Uint8Array, string])[] = [
    ['k8s\0', 'protobuf'],
    ['{}', 'json'],
    ['', 'value is empty'],
    ['k8s:enc:aescbc:v1:key:', 'value is encrypted'],
    [Buffer.of(0x1f, 0x8b, 8, 0), 'value is compressed'],
    [Buffer.of(0x78, 0x9c, 1, 2), 'value is compressed'],
    [Buffer.of(0x28, 0xb5, 0x2f, 0xfd), 'value is compressed'],
    ['xylophone', 'value is neither protobuf nor JSON'],
    [' {}', 'value is neither protobuf nor JSON'],
  ]
  for (const [bytes, wanted] of formats) {
    const format = formatOf(valueOf(bytes))
    t.equal(format instanceof NotExact ? format.reason : format, wanted)
  }
})

t.test('a form that a kind has not got is not exact', async t => {
  const custom = new CustomKind({
    group: 'example.com',
    kind: 'Widget',
    versions: [{ name: 'v1', schema: undefined }],
    preservesUnknownFields: false,
    conversion: 'none',
  })
  const widget = { schema: schemaOf(), apiVersion: 'example.com/v1', kind: 'Widget', custom }
  const pod = protobufFromJson(
    Buffer.from('{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}'),
  )
  if (pod instanceof NotExact) throw new Error(pod.reason)
  const options = { resourceVersion: '1', isItem: false }
  const reasons = [
    appendObject(out, valueOf(pod), widget, options),
    appendObjectProtobuf(out, valueOf('{}'), widget, options),
    appendObjectProtobuf(out, valueOf('{}'), fischer, options),
    appendObject(out, valueOf('k8s:enc:x'), widget, options),
  ]
  t.same(
    reasons.map(reason => reason?.reason),
    [
      'a custom resource is not JSON',
      'JSON objects have no protobuf form',
      'JSON objects have no protobuf form',
      'value is encrypted',
    ],
  )
  const served = [
    servedProtobuf(valueOf('{}'), { ...fischer, learned }),
    servedProtobuf(valueOf(pod), { ...fischer, learned }),
    servedProtobuf(valueOf('{}'), widget),
    servedProtobuf(valueOf(pod), widget),
  ]
  t.same(
    served.map(one => (one instanceof NotExact ? one.reason : one)),
    [undefined, 'an unknown kind is not JSON', undefined, 'a custom resource is not JSON'],
  )
})

t.test('the format of a value is told by its first bytes', async t => {
  const none = 'value is neither protobuf nor JSON'
  const compressed = 'value is compressed'
  for (const [hex, expected] of [
    ['', 'value is empty'],
    ['6b387300', 'protobuf'],
    ['7b', 'json'],
    ['5b5d', none],
    [Buffer.from('k8s:enc:').toString('hex'), 'value is encrypted'],
    [Buffer.from('k8s:enc').toString('hex'), none],
    ['1f8b0800', compressed],
    ['1f8b08', none],
    ['1f000800', none],
    ['008b0800', none],
    ['78010000', compressed],
    ['785e0000', compressed],
    ['789c0000', compressed],
    ['78da0000', compressed],
    ['78000000', none],
    ['78020000', none],
    ['28b52ffd', compressed],
    ['28002ffd', none],
    ['00b52ffd', none],
    ['ff060000', compressed],
    ['ff000000', none],
    ['00060000', none],
    [Buffer.from('\0k8s').toString('hex'), compressed],
    [Buffer.from('\0k8x').toString('hex'), none],
    [Buffer.from('\0k8').toString('hex'), none],
  ] as const) {
    // What comes behind the window is no part of the value.
    const bytes = Buffer.from(`00${hex}78c5731f`, 'hex')
    const found = formatOf({ bytes, start: 1, end: 1 + hex.length / 2 })
    t.equal(found instanceof NotExact ? found.reason : found, expected, hex)
  }
})

t.test(
  'a value of more than 16 MiB is not shown, as its text may be longer than a string',
  async t => {
    const text = (length: number): string =>
      `${head}"metadata":{"name":"a","uid":"u"},"spec":"${'x'.repeat(length)}"}`
    const max = 16 * 1024 * 1024
    t.match(declared(text(max)), 'value has more than 16777216 bytes')
    t.ok(declared(text(max - 1000)).length > max - 1000)
  },
)
