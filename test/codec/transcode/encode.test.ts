import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'

/** The object that comes back when JSON has become protobuf and JSON again, or the reason why
 *  not. */
function throughProtobuf(json: string | Buffer): unknown {
  const bytes = protobufFromJson(Buffer.from(json))
  if (bytes instanceof NotExact) return bytes.reason
  const back = jsonFromProtobuf(bytes)
  return back instanceof NotExact ? back.reason : JSON.parse(Buffer.from(back).toString())
}

function object(apiVersion: string, kind: string, members: string): string {
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":{},${members}}`
}

/** The text that a value of a ConfigMap becomes. */
function textThrough(literal: string): unknown {
  const back = throughProtobuf(object('v1', 'ConfigMap', `"data":{"k":${literal}}`))
  return typeof back === 'string' ? back : (back as { data: { k: string } }).data.k
}

t.test('texts with escapes are those that JSON means, with half characters replaced', async t => {
  const units = [0, 0x22, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000]
  const all = [...units, 0xffff]
  const escape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
  for (const first of all) {
    for (const second of all) {
      for (const between of ['', 'x', '\\n', 'é']) {
        const literal = `"${escape(first)}${between}${escape(second).toUpperCase().replace('U', 'u')}y"`
        const expected = Buffer.from(JSON.parse(literal) as string).toString()
        if (textThrough(literal) !== expected) t.equal(textThrough(literal), expected, literal)
      }
    }
  }
  const short = String.raw`"\"\\\/\b\f\n\r\t"`
  t.equal(textThrough(short), JSON.parse(short))
})

t.test('texts of every length have the right length before them', async t => {
  for (const length of [0, 1, 31, 32, 33, 126, 127, 128, 129, 16_383, 16_384, 16_385]) {
    const plain = 'x'.repeat(length)
    t.equal(textThrough(`"${plain}"`), plain, `${length}`)
    // Written in six letters each, so that the text is shorter than expected; and in one, so that
    // what is replaced is longer.
    t.equal(textThrough(`"${'\\u0061'.repeat(length)}"`), 'a'.repeat(length), `${length}`)
    const broken = Buffer.concat([Buffer.from('"'), Buffer.alloc(length, 0xff), Buffer.from('"')])
    const json = Buffer.concat([
      Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"k":'),
      broken,
      Buffer.from('}}'),
    ])
    deepStrictEqual(throughProtobuf(json), {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {},
      data: { k: '\ufffd'.repeat(length) },
    })
  }
  t.pass()
})

t.test('objects of any text come back as they were', async t => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'binary', minLength: 1 }), fc.string({ unit: 'binary' }), {
        minKeys: 1,
      }),
      data => {
        const json = object('v1', 'ConfigMap', `"data":${JSON.stringify(data)}`)
        const back = throughProtobuf(json) as { data: object }
        deepStrictEqual(back.data, JSON.parse(JSON.stringify(data)))
      },
    ),
    { numRuns: 60 },
  )
  t.pass()
})

const nothing = Symbol('as it was')

t.test('a member that is of another type, or too large, is told of', async t => {
  const pod = (spec: string): string =>
    object('v1', 'Pod', `"spec":{"containers":[{"name":"c","resources":{}}],${spec}}`)
  const port = (value: string): string =>
    object('v1', 'Service', `"spec":{"ports":[{"port":1,"targetPort":${value}}]}`)
  const deployment = (replicas: string): string =>
    object(
      'apps/v1',
      'Deployment',
      `"spec":{"replicas":${replicas},"selector":null,"template":{"metadata":{},"spec":{"containers":[{"name":"c","resources":{}}]}}}`,
    )
  const revision = (value: string): string =>
    object('apps/v1', 'ControllerRevision', `"data":{},"revision":${value}`)
  const limits = (value: string): string =>
    object('v1', 'ResourceQuota', `"spec":{"hard":{"cpu":${value}}}`)
  const maximum = (value: string): string =>
    object(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      `"spec":{"group":"a","names":{"plural":"b","kind":"C"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"maximum":${value}}}}]}`,
    )
  const secret = (value: string): string => object('v1', 'Secret', `"data":{"k":${value}}`)
  const created = (value: string): string =>
    `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"creationTimestamp":${value}}}`
  for (const [json, reason] of [
    [pod('"hostNetwork":"true"'), 'a member is not true or false'],
    [pod('"hostNetwork":1'), 'a member is not true or false'],
    [pod('"hostNetwork":true'), nothing],
    [pod('"hostname":5'), 'a member is not a text'],
    [pod('"hostname":true'), 'a member is not a text'],
    [pod('"hostname":["a"]'), 'a member is not a text'],
    [pod('"volumes":{}'), 'a member is not an array'],
    [pod('"securityContext":[]'), 'a member is not an object'],
    [pod('"nodeSelector":[]'), 'a member is not an object'],
    [deployment('"3"'), 'a member is not a whole number'],
    [deployment('1.5'), 'a member is not a whole number'],
    [deployment('1e3'), 'a member is not a whole number'],
    [deployment('2147483647'), nothing],
    [deployment('2147483648'), 'a number is not one of 32 bits'],
    [deployment('-2147483648'), nothing],
    [deployment('-2147483649'), 'a number is not one of 32 bits'],
    [deployment('999999999'), nothing],
    [deployment('1000000000'), nothing],
    [deployment('9223372036854775808'), 'a number is not one of 64 bits'],
    [revision('4294967295'), nothing],
    [revision('4294967296'), nothing],
    [revision('9223372036854775808'), 'a number is not one of 64 bits'],
    [revision('-9223372036854775809'), 'a number is not one of 64 bits'],
    [limits('"x"'), 'a quantity is not one that we can read'],
    [limits('true'), 'a member has a value of another type'],
    [limits('"1\\u006d"'), 'a member has a value of another type'],
    [limits(`"${'1'.repeat(201)}"`), 'a member has a value of another type'],
    [maximum('"1"'), 'a member is not a number'],
    [maximum('1e999'), 'a number is too large'],
    [maximum('1e308'), nothing],
    [created('5'), 'a time is not a text'],
    [created('true'), 'a member has a value of another type'],
    [port('true'), 'a member is neither a number nor a text'],
    [port('{}'), 'a member is neither a number nor a text'],
    [port('1.5'), 'a member is not a whole number'],
    [port('2147483648'), 'a number is not one of 32 bits'],
    [port('5'), nothing],
    [port('"http"'), nothing],
    [port('"htt\\u0070"'), 'htt\\u0070'],
    [secret('"AQI="'), nothing],
    [secret('"AQ=="'), nothing],
    [secret('"AQID"'), nothing],
    [secret('"+/+/"'), nothing],
    ...[
      '"A"',
      '"AQ"',
      '"AQI"',
      '"===="',
      '"A==="',
      '"AQ=I"',
      '"AQ==AQ=="',
      '"A-ID"',
      '"AQ\\n=="',
    ].map(value => [secret(value), 'a member is not base64'] as const),
    ['[]', 'JSON is not an object'],
    ['{"kind":5,"apiVersion":"v1"}', 'kind is not a text'],
  ] as const) {
    const made = throughProtobuf(json)
    if (reason === nothing || reason === 'htt\\u0070') {
      t.match(made, JSON.parse(json.replace('"selector":null,', '')) as object, json)
    } else {
      t.equal(made, reason, json)
    }
  }
})

t.test('schemas are nested as deep as there is room for, and no deeper', async t => {
  const nested = (depth: number): string =>
    `${'{"properties":{"p":'.repeat(depth)}{"type":"string"}${'}}'.repeat(depth)}`
  const definition = (schema: string): string =>
    object(
      'apiextensions.k8s.io/v1',
      'CustomResourceDefinition',
      `"spec":{"group":"a","names":{"plural":"b","kind":"C"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":${schema}}}]}`,
    )
  for (const depth of [1, 20, 40]) {
    t.match(
      throughProtobuf(definition(nested(depth))),
      JSON.parse(definition(nested(depth))) as object,
    )
  }
  t.equal(throughProtobuf(definition(nested(500))), 'JSON is nested too deep')
})

t.test('a zero time is an empty message, and a moment after it is not', async t => {
  const timeOf = (apiVersion: string, kind: string, members: string): unknown => {
    const bytes = protobufFromJson(Buffer.from(object(apiVersion, kind, members)))
    return bytes instanceof NotExact ? bytes.reason : Buffer.from(bytes).toString('hex')
  }
  const lease = (time: string): unknown =>
    timeOf('coordination.k8s.io/v1', 'Lease', `"spec":{"renewTime":"${time}"}`)
  t.match(lease('0001-01-01T00:00:00.000000Z'), /120222001a002200$/)
  t.match(lease('0001-01-01T00:00:00.000001Z'), /1210220e088092b8c398feffffff0110e8071a002200$/)
  t.equal(lease('0001-01-01T00:00:00Z'), 'a time does not have six digits of a second')
  const pod = (time: string): unknown => timeOf('v1', 'Pod', `"status":{"startTime":"${time}"}`)
  t.match(pod('0001-01-01T00:00:00Z'), /3a00/)
  t.match(pod('0001-01-01T00:00:01Z'), /3a0d088192b8c398feffffff011000/)
})
