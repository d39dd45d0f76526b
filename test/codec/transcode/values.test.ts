import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import {
  appendJson,
  jsonFromProtobuf,
  protobufFromJson,
} from '../../../lib/codec/transcode/transcode.ts'
import { enveloped, lengthField, varint } from './random-messages.ts'

function jsonOf(apiVersion: string, kind: string, message: Buffer): string {
  const json = jsonFromProtobuf(enveloped(apiVersion, kind, message))
  return json instanceof NotExact ? json.reason : Buffer.from(json).toString('latin1')
}

/** A config map with these bytes as the value of a key, and what becomes of them. */
function textOf(bytes: Buffer): string {
  const entry = Buffer.concat([lengthField(1, Buffer.from('k')), lengthField(2, bytes)])
  const json = jsonOf(
    'v1',
    'ConfigMap',
    Buffer.concat([lengthField(1, Buffer.alloc(0)), lengthField(2, entry)]),
  )
  return json.slice(
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"k":"'.length,
    -'"}}\n'.length,
  )
}

t.test('texts are escaped as Go escapes them, wherever the character stands', async t => {
  for (const [character, escaped] of [
    ['"', '\\"'],
    ['\\', '\\\\'],
    ['\b', '\\b'],
    ['\f', '\\f'],
    ['\n', '\\n'],
    ['\r', '\\r'],
    ['\t', '\\t'],
    ['\0', '\\u0000'],
    ['\u001f', '\\u001f'],
    ['<', '\\u003c'],
    ['>', '\\u003e'],
    ['&', '\\u0026'],
    ['\u2028', '\\u2028'],
    ['\u2029', '\\u2029'],
    ['\u007f', '\u007f'],
    [' ', ' '],
    ["'", "'"],
    ['/', '/'],
    ['=', '='],
    ['é', Buffer.from('é').toString('latin1')],
    ['\u2027', Buffer.from('\u2027').toString('latin1')],
    ['\ufffd', Buffer.from('\ufffd').toString('latin1')],
    ['😀', Buffer.from('😀').toString('latin1')],
  ] as const) {
    for (let before = 0; before < 9; before++) {
      for (let after = 0; after < 9; after++) {
        const [left, right] = ['a'.repeat(before), 'b'.repeat(after)]
        const made = textOf(Buffer.from(left + character + right))
        if (made !== left + escaped + right) t.equal(made, left + escaped + right)
      }
    }
  }
  t.pass()
})

t.test('each byte that is no UTF-8 is replaced', async t => {
  const replacement = '\\ufffd'
  for (const [hex, replaced] of [
    ['fffee282', 4],
    ['80', 1],
    ['c0af', 2],
    ['eda080', 3],
    ['f5808080', 4],
    ['f08080af', 4],
    ['e28041', 2],
  ] as const) {
    const tail = hex === 'e28041' ? 'A' : ''
    t.equal(textOf(Buffer.from(hex, 'hex')), replacement.repeat(replaced) + tail, hex)
  }
})

t.test('a byte that is no UTF-8 is found at every place of a text', async t => {
  for (const byte of [0x80, 0x9f, 0xbf, 0xc1, 0xf8, 0xff]) {
    for (let before = 0; before < 9; before++) {
      for (let after = 0; after < 9; after++) {
        const [left, right] = ['a'.repeat(before), 'b'.repeat(after)]
        const bytes = Buffer.concat([Buffer.from(left), Buffer.from([byte]), Buffer.from(right)])
        const expected = `${left}\\ufffd${right}`
        if (textOf(bytes) !== expected) t.equal(textOf(bytes), expected)
      }
    }
  }
  t.pass()
})

t.test('there is room for values that grow the most', async t => {
  const metadata = lengthField(1, Buffer.alloc(0))
  const controls = Buffer.alloc(1000, 1)
  const entry = (key: Buffer, value: Buffer): Buffer =>
    lengthField(2, Buffer.concat([lengthField(1, key), lengthField(2, value)]))
  const maps = [entry(controls, controls), lengthField(2, Buffer.alloc(0))]
  const finalizers = [controls, Buffer.alloc(0), Buffer.alloc(0)].map(text => lengthField(14, text))
  const empty = Array.from({ length: 500 }, () => lengthField(14, Buffer.alloc(0)))
  // Containers say the most for the least: each of two bytes becomes some forty.
  const containers = Array.from({ length: 300 }, () => lengthField(2, Buffer.alloc(0)))
  for (const value of [
    ...maps.map(map => enveloped('v1', 'ConfigMap', Buffer.concat([metadata, map]))),
    ...[finalizers, empty].map(lists =>
      enveloped('v1', 'ConfigMap', lengthField(1, Buffer.concat(lists))),
    ),
    enveloped('v1', 'ConfigMap', lengthField(3, Buffer.concat([lengthField(2, controls)]))),
    enveloped('v1', 'Pod', Buffer.concat([metadata, lengthField(2, Buffer.concat(containers))])),
  ]) {
    const expected = Buffer.from(jsonFromProtobuf(value) as Uint8Array)
    JSON.parse(expected.toString())
    for (let capacity = 0; capacity < 300; capacity += 7) {
      const out = new ByteWriter(capacity)
      t.equal(appendJson(out, { bytes: value, start: 0, end: value.length }, schemaOf()), undefined)
      t.ok(expected.equals(out.copy()))
    }
  }
})

t.test('numbers of 64 bits are exact', async t => {
  for (const value of [
    0n,
    9n,
    10n,
    127n,
    128n,
    2n ** 31n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 63n - 1n,
    -1n,
    -(2n ** 53n) - 1n,
    -(2n ** 63n),
  ]) {
    const message = Buffer.concat([
      lengthField(1, Buffer.alloc(0)),
      lengthField(2, Buffer.alloc(0)),
      varint(24),
      varint(value),
    ])
    const json = jsonOf('apps/v1', 'ControllerRevision', message)
    t.match(json, `"revision":${value}}`)
    const back = protobufFromJson(Buffer.from(json))
    const written = Buffer.concat([varint(24), varint(value), Buffer.from([0x1a, 0, 0x22, 0])])
    t.ok(back instanceof Uint8Array && Buffer.from(back).includes(written), `${value}`)
  }
})

t.test("times are dates of the Gregorian calendar, and Go's zero time is null", async t => {
  const lease = (seconds: number, nanos: number): string => {
    const time = Buffer.concat([varint(8), varint(seconds), varint(16), varint(nanos)])
    const spec = lengthField(3, time)
    const json = jsonOf(
      'coordination.k8s.io/v1',
      'Lease',
      Buffer.concat([lengthField(1, Buffer.alloc(0)), lengthField(2, spec)]),
    )
    return /"acquireTime":(.*?)\}/.exec(json)?.[1] ?? json
  }
  for (let day = -719_528; day < 2_932_897; day += 977) {
    const seconds = day * 86_400 + (Math.abs(day) % 86_400)
    const expected = new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, '.000000Z')
    if (lease(seconds, 0) !== `"${expected}"`) t.equal(lease(seconds, 0), `"${expected}"`)
  }
  t.equal(lease(951_782_400, 123_456_789), '"2000-02-29T00:00:00.123456Z"')
  t.equal(lease(0, -1000), '"1969-12-31T23:59:59.999999Z"')
  t.equal(lease(-62_135_596_800, 0), 'null')
  t.match(lease(253_402_300_800, 0), 'not in the years')
  t.match(lease(-62_167_219_201, 0), 'not in the years')
})

t.test('times of any offset are read', async t => {
  for (const [text, seconds] of [
    ['2026-11-21T04:18:40Z', 1_795_234_720],
    ['2026-11-21T05:48:40+01:30', 1_795_234_720],
    ['2026-11-20T23:18:40.999-05:00', 1_795_234_720],
    ['1970-01-01T00:00:00Z', 0],
  ] as const) {
    const json = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":"${text}"}}`
    const made = protobufFromJson(Buffer.from(json))
    const wanted = Buffer.concat([varint(8), varint(seconds), Buffer.from([0x10, 0])])
    t.ok(made instanceof Uint8Array && Buffer.from(made).includes(wanted), text)
  }
  for (const text of [
    '',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
  ]) {
    const json = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":"${text}"}}`
    t.match(protobufFromJson(Buffer.from(json)), { reason: 'a time is not one of RFC 3339' }, text)
  }
})

t.test('a MicroTime has exactly six digits of a second', async t => {
  const made = (text: string): Uint8Array | NotExact =>
    protobufFromJson(
      Buffer.from(
        `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{},"spec":{"renewTime":"${text}"}}`,
      ),
    )
  for (const text of [
    '2024-01-01T00:00:00.123456Z',
    '2024-01-01T00:00:00,123456Z',
    '2024-01-01T02:00:00.123456+02:00',
  ]) {
    const bytes = made(text)
    const json = bytes instanceof NotExact ? bytes : jsonFromProtobuf(bytes)
    t.match(Buffer.from(json as Uint8Array).toString(), '"2024-01-01T00:00:00.123456Z"', text)
  }
  for (const fraction of ['', '.1', '.12345', '.1234567', '.123456789']) {
    const text = `2024-01-01T00:00:00${fraction}Z`
    t.match(made(text), { reason: 'a time does not have six digits of a second' }, text)
  }
})

/** Raw JSON inside an object. */
function rawOf(text: string | Buffer): string {
  const raw = lengthField(2, lengthField(1, Buffer.from(text)))
  const json = jsonOf(
    'apps/v1',
    'ControllerRevision',
    Buffer.concat([lengthField(1, Buffer.alloc(0)), raw]),
  )
  return /"data":(.*),"revision":0\}\n$/s.exec(json)?.[1] ?? json
}

t.test('raw JSON is compacted and escaped, and otherwise stays', async t => {
  for (const [text, compact] of [
    [' { "b" : [ 1 , 2.50, -0, 1E+05 ] , "a" : null } ', '{"b":[1,2.50,-0,1E+05],"a":null}'],
    ['"<&>\\u003c\\/"', '"\\u003c\\u0026\\u003e\\u003c\\/"'],
    ['"\u2028\u2029"', '"\\u2028\\u2029"'],
    ['[[],{},[{}]]', '[[],{},[{}]]'],
    ['true', 'true'],
    ['\t0\n', '0'],
  ] as const) {
    t.equal(rawOf(text), compact)
  }
  t.equal(rawOf(Buffer.from('22ff22', 'hex')), '"\u00ff"', 'Go does not look at its encoding')
})

t.test('raw JSON that is none would break the object around it', async t => {
  const wrong = [
    '{',
    '}',
    '[1,]',
    '{"a"}',
    '{"a" 1}',
    '{"a";1}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
    '01',
    '1.',
    '.5',
    '1e',
    '-',
    '+1',
    'tru',
    'nul',
    '"',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '[1}',
    '{}{}',
    '1 2',
    ' ',
    '"a" "b"',
    '[,]',
    '{,}',
  ]
  for (const text of wrong) t.equal(rawOf(text), 'raw JSON is malformed', text)
})

t.test('what the schema does not know is not exact, and says what it is', async t => {
  for (const [message, reason] of [
    [
      lengthField(9, Buffer.alloc(0)),
      'core/v1.ConfigMap has field 9, which the schema does not know',
    ],
    [Buffer.concat([varint(8), varint(1)]), 'core/v1.ConfigMap has field 1 with wire type 0'],
    [Buffer.from('0a05', 'hex'), 'core/v1.ConfigMap is malformed'],
    [Buffer.from('0a8501', 'hex'), 'a length reaches beyond the end of its message'],
    [Buffer.from('0a', 'hex'), 'core/v1.ConfigMap is malformed'],
    [Buffer.from('0c', 'hex'), 'core/v1.ConfigMap has field 1 with wire type 4'],
    [Buffer.from('20ff', 'hex'), 'a varint is not ended'],
    [
      lengthField(1, lengthField(99, Buffer.alloc(0))),
      'meta/v1.ObjectMeta has field 99, which the schema does not know',
    ],
    [
      lengthField(2, lengthField(3, Buffer.alloc(0))),
      'a map entry has a field that we do not know',
    ],
  ] as const) {
    const made = jsonOf('v1', 'ConfigMap', message)
    t.equal(made, reason)
  }
  t.equal(jsonOf('v1', 'Gadget', Buffer.alloc(0)), 'no schema of the kind in the envelope')
  t.equal(jsonOf('v2', 'Pod', Buffer.alloc(0)), 'no schema of the kind in the envelope')
  t.equal(jsonOf('meta.k8s.io/v1', 'Table', Buffer.alloc(0)), 'Table has no protobuf form')
})

t.test('JSON that the schema does not fit is not exact', async t => {
  const object = (members: string): string => `{"kind":"ConfigMap","apiVersion":"v1",${members}}`
  for (const [json, reason] of [
    ['{', 'JSON is malformed'],
    ['[]', 'JSON is not an object'],
    ['{}', 'WatchEvent'],
    [object('"Data":{}'), 'core/v1.ConfigMap has no field "Data"'],
    [object('"metadata":{"nome":1}'), 'meta/v1.ObjectMeta has no field "nome"'],
    [object('"metadata":[]'), 'a member is not an object'],
    [object('"metadata":{"finalizers":{}}'), 'a member is not an array'],
    [object('"metadata":{"name":1}'), 'a member is not a text'],
    [object('"metadata":{"generation":"1"}'), 'a member is not a whole number'],
    [object('"metadata":{"generation":1.0}'), 'a member is not a whole number'],
    [object('"metadata":{"generation":9223372036854775808}'), 'a number is not one of 64 bits'],
    [object('"immutable":"true"'), 'a member is not true or false'],
    [object('"binaryData":{"a":"b"}'), 'a member is not base64'],
    [object('"metadata":{},"metadata":{}'), 'core/v1.ConfigMap repeats the member "metadata"'],
  ] as const) {
    const made = protobufFromJson(Buffer.from(json))
    if (reason === 'WatchEvent') t.ok(made instanceof Uint8Array, 'the one kind without a name')
    else t.match(made, { reason }, json)
  }
})

t.test('of values that are repeated the last counts, in both directions', async t => {
  const message = Buffer.concat([
    lengthField(
      1,
      Buffer.concat([lengthField(1, Buffer.from('a')), lengthField(1, Buffer.from('b'))]),
    ),
    ...['z', 'a', 'z'].map((key, i) =>
      lengthField(
        2,
        Buffer.concat([lengthField(1, Buffer.from(key)), lengthField(2, Buffer.from(`${i}`))]),
      ),
    ),
  ])
  const json =
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"},"data":{"a":"1","z":"2"}}\n'
  t.equal(jsonOf('v1', 'ConfigMap', message), json)
  const [, ...entries] = ['0', '1', '2'].map(value =>
    lengthField(
      2,
      Buffer.concat([lengthField(1, Buffer.from('a')), lengthField(2, Buffer.from(value))]),
    ),
  )
  const neighbours = jsonOf('v1', 'ConfigMap', Buffer.concat(entries))
  t.equal(neighbours, '{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"a":"2"}}\n')
  const repeated =
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","name":"b"},"data":{"z":"0","a":"1","z":"2"}}'
  t.strictSame(protobufFromJson(Buffer.from(repeated)), protobufFromJson(Buffer.from(json)))
})

t.test('keys of maps are ordered by their bytes', async t => {
  const keys = ['\uffff', '😀', 'a', 'é', '']
  const data = Object.fromEntries(keys.map(key => [key, '']))
  const made = protobufFromJson(
    Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data })),
  )
  const json = jsonFromProtobuf(made as Uint8Array)
  t.match(
    Buffer.from(json as Uint8Array).toString(),
    '"data":{"":"","a":"","é":"","\uffff":"","😀":""}',
  )
})
