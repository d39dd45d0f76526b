import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { customKindOf } from '../../../../lib/codec/served/custom/custom-definition.ts'
import { JsonVerifier } from '../../../../lib/codec/json/verify.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { rootMetadataNode } from '../../../../lib/codec/served/structural/object-meta-node.ts'
import { compileRoot, verifyNodeOf } from '../../../../lib/codec/served/structural/schema.ts'
import {
  type TestObject,
  kindOf,
  objectWith,
  served,
  viewText,
} from '../../../support/kube/custom.ts'
import { goJson } from '../../../support/kube/go-json.ts'
import type { Parsed } from '../structural/oracle.ts'

const anything = { 'x-kubernetes-preserve-unknown-fields': true }
const plain = kindOf({ v1: undefined, v2: undefined })

/** Well-formed texts: Go has no others. */
const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const { value: anyValue } = fc.letrec<{ value: Parsed }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), number, text) as fc.Arbitrary<Parsed>,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

t.test('text in the form of Go is spliced, any other text takes its form', async () => {
  const style = fc.record({
    indent: fc.constantFrom(undefined, 1),
    isReversed: fc.boolean(),
    isEscaped: fc.boolean(),
  })
  fc.assert(
    fc.property(anyValue, style, fc.constantFrom('v1', 'v2'), (spec, looks, version) => {
      const object = objectWith({ spec, alpha: { spec } })
      // JSON.stringify writes no -0, and JSON.parse is what the oracle sees.
      const known = JSON.parse(JSON.stringify(object)) as typeof object
      assert.equal(viewText(plain, goJson(known), version), served(known, version))
      assert.equal(viewText(plain, styled(known, looks), version), served(known, version))
    }),
    { numRuns: 2000 },
  )
})

function styled(
  value: unknown,
  {
    indent,
    isReversed,
    isEscaped,
  }: { indent: number | undefined; isReversed: boolean; isEscaped: boolean },
): string {
  const ordered = isReversed ? reversed(value) : value
  const written = JSON.stringify(ordered, undefined, indent)
  return isEscaped ? written.replace(/"a/g, '"\\u0061') : written
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).reverse()
  return Object.fromEntries(members.map(([key, member]) => [key, reversed(member)]))
}

t.test('numbers, keys and escapes take the one form that Go writes', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['1.0', '1'],
    ['-0', '0'],
    ['-0.0', '-0'],
    ['1e2', '100'],
    ['1E-7', '1e-7'],
    ['0.000001', '0.000001'],
    ['1e21', '1e+21'],
    ['123456789012345678', '123456789012345678'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775808', '9223372036854776000'],
    [`1${'0'.repeat(40)}`, '1e+40'],
    ['"<a>&\u2028"', '"\\u003ca\\u003e\\u0026\\u2028"'],
    ['"\\u003C\\/\\u00e9"', '"\\u003c/é"'],
    ['"\\ud83d\\ude00 \\ud83d"', '"😀 \ufffd"'],
    ['"\\u0008\\u000c\\u0001\\u007f"', '"\\b\\f\\u0001\u007f"'],
    ['{"b":1,"a":2,"b":3}', '{"a":2,"b":3}'],
    ['{"a":1,"a":2}', '{"a":2}'],
    ['"a\u2029b"', '"a\\u2029b"'],
    ['{"\u{10000}":1,"\uffff":2}', '{"\uffff":2,"\u{10000}":1}'],
    ['{"k:{\\"b\\"}":1,"k:{\\"a\\"}":2}', '{"k:{\\"a\\"}":2,"k:{\\"b\\"}":1}'],
    ['{"__proto__":{"a":1},"10":1,"9":2}', '{"10":1,"9":2,"__proto__":{"a":1}}'],
    [' [ 1 , [ ] , { } ] ', '[1,[],{}]'],
  ]
  const head = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":1'
  for (const [i, [stored, wanted]] of cases.entries()) {
    t.equal(
      viewText(plain, `${head}},"spec":${stored}}\n`),
      `${head},"resourceVersion":"77"},"spec":${wanted}}`,
      `case ${i}`,
    )
  }
})

t.test('what is not JSON, and what Go refuses, is not exact', async t => {
  const whole = goJson(objectWith({ spec: 0 }))
  const bad = [
    '',
    '[',
    '01',
    '1.',
    '.5',
    '+1',
    '1e999',
    'tru',
    'nul',
    '"\n"',
    '"\\x"',
    '{"a"}',
    '{"a":1,}',
    '[1 2]',
    "'a'",
  ]
  for (const spec of [...bad, '['.repeat(2000) + ']'.repeat(2000)]) {
    t.ok(viewText(plain, whole.replace('"spec":0', `"spec":${spec}`)) instanceof NotExact, spec)
  }
  t.ok(viewText(plain, `${whole}x`) instanceof NotExact)
  t.ok(viewText(plain, whole.slice(0, -1)) instanceof NotExact)
  t.ok(viewText(plain, '[]') instanceof NotExact)
})

t.test('objects of another kind, group or version are not exact', async t => {
  const changes = [
    { kind: 'Gadget' },
    { apiVersion: 'example.com/v3' },
    { apiVersion: 'example.org/v1' },
    { apiVersion: 1 },
    { metadata: null },
  ]
  for (const change of changes) {
    const stored = goJson({ ...objectWith({}), ...change })
    t.ok(viewText(plain, stored) instanceof NotExact, JSON.stringify(change))
  }
  t.ok(viewText(plain, goJson(objectWith({})), 'v3') instanceof NotExact)
  const webhook = kindOf({ v1: undefined, v2: undefined }, { conversion: 'webhook' })
  t.ok(viewText(webhook, goJson(objectWith({})), 'v2') instanceof NotExact)
  t.equal(viewText(webhook, goJson(objectWith({}))), served(objectWith({})))
})

t.test('metadata takes the form of its Go type', async t => {
  const cases: readonly (readonly [object, object])[] = [
    [{ generation: 0, name: '', labels: {}, unknown: 1 }, { generation: 1 }],
    [{ resourceVersion: '5', finalizers: [], ownerReferences: null }, { generation: 1 }],
    [
      { ownerReferences: [{ uid: 'u', controller: true, blockOwnerDeletion: null }] },
      {
        generation: 1,
        ownerReferences: [{ apiVersion: '', controller: true, kind: '', name: '', uid: 'u' }],
      },
    ],
    [
      { generation: 3, labels: { a: null, b: 'x' }, finalizers: [null, 'f'] },
      { generation: 3, labels: { a: '', b: 'x' }, finalizers: ['', 'f'] },
    ],
    [
      { managedFields: [{ fieldsV1: { 'f:b': {}, 'f:a': {} }, manager: '', time: null }] },
      { generation: 1, managedFields: [{ fieldsV1: { 'f:a': {}, 'f:b': {} } }] },
    ],
    [
      { creationTimestamp: null, deletionGracePeriodSeconds: 0 },
      { generation: 1, deletionGracePeriodSeconds: 0 },
    ],
  ]
  for (const [stored, wanted] of cases) {
    t.equal(
      viewText(plain, goJson({ ...objectWith({}), metadata: stored })),
      served({ ...objectWith({}), metadata: wanted }),
      JSON.stringify(stored),
    )
  }
  const wrong = [
    { name: 1 },
    { labels: { a: 1 } },
    { generation: 1.5 },
    { creationTimestamp: '2026-02-29T00:00:00Z' },
    { creationTimestamp: '2026-01-01T00:00:00+01:00' },
    { finalizers: 'x' },
  ]
  for (const stored of wrong) {
    const problem = viewText(plain, goJson({ ...objectWith({}), metadata: stored }))
    t.ok(problem instanceof NotExact, JSON.stringify(stored))
  }
})

t.test('what a schema says of apiVersion, kind and metadata changes nothing', async t => {
  const metadata = { properties: { name: { default: 'y' } }, default: {} }
  const described = { apiVersion: { default: 'x' }, kind: { default: 'x' }, metadata }
  const kind = kindOf({ v1: { properties: { ...described, spec: { properties: { a: {} } } } } })
  const stored = objectWith({ spec: { a: 1 } })
  t.equal(viewText(kind, goJson(stored)), served(stored))
  t.equal(viewText(kind, goJson({ ...stored, extra: 1 })), served(stored))
  const verifier = new JsonVerifier()
  const root = verifyNodeOf(compileRoot({ properties: { ...described } }))
  const bytes = Buffer.from(goJson(objectWith({})))
  const options = { order: 'sorted', root, metadata: rootMetadataNode } as const
  t.ok(verifier.verify(bytes, 0, bytes.length, options))
})

t.test('embedded resources keep their type and have typed metadata', async t => {
  const template = { 'x-kubernetes-embedded-resource': true, properties: { spec: anything } }
  const kind = kindOf({ v1: { properties: { template } } })
  const stored = {
    template: {
      apiVersion: 'v1',
      kind: 7,
      metadata: { name: 'x', unknown: 1, labels: {}, creationTimestamp: null },
      spec: { any: 1 },
      status: {},
    },
  }
  const wanted = { template: { apiVersion: 'v1', metadata: { name: 'x' }, spec: { any: 1 } } }
  t.equal(viewText(kind, goJson(objectWith(stored))), served(objectWith(wanted)))
  t.equal(viewText(kind, goJson(objectWith(wanted))), served(objectWith(wanted)))
})

t.test('mutated texts are served as the oracle says, or not at all', async () => {
  const head = goJson(objectWith({})).slice(0, -1)
  const body =
    ',"spec":{"a":[1,2.5,null,"x<\\u003c"],"b":{"c":"é\\n","k:{\\"n\\"}":{}},"d":-12e3},"z":true}'
  const change = fc.tuple(
    fc.nat(body.length - 1),
    fc.constantFrom(...Buffer.from('"{}[],:\\u0x19-.eEtn <&\x00\xc3')),
  )
  fc.assert(
    fc.property(fc.array(change, { maxLength: 4 }), fc.nat(body.length), (changes, length) => {
      const bytes = Buffer.from(body)
      for (const [at, byte] of changes) bytes[at] = byte
      const cut = length % 4 === 0 ? bytes.subarray(0, length) : bytes
      const stored = Buffer.concat([Buffer.from(head), cut])
      const viewed = viewText(plain, stored)
      let parsed: TestObject
      try {
        parsed = JSON.parse(stored.toString()) as TestObject
      } catch {
        assert.ok(viewed instanceof NotExact)
        return
      }
      if (viewed instanceof NotExact) assert.match(viewed.reason, /metadata|version|kind|JSON/)
      // Go reads -0 as the integer 0, JSON.parse as the float -0.
      else if (!/\ufffd|-0(?![.eE])/.test(stored.toString())) assert.equal(viewed, served(parsed))
    }),
    { numRuns: 10_000 },
  )
})

t.test('invalid UTF-8 becomes one replacement character for each byte', async t => {
  const head = goJson(objectWith({})).slice(0, -1)
  const stored = Buffer.concat([
    Buffer.from(`${head},"spec":"`),
    Buffer.of(0xff, 0xfe, 0xe2, 0x82),
    Buffer.from('"}'),
  ])
  t.equal(viewText(plain, stored), served(objectWith({ spec: '\ufffd\ufffd\ufffd\ufffd' })))
})

t.test('a definition says how its objects are read', async t => {
  const schema = {
    openAPIV3Schema: { properties: { spec: { properties: { a: { default: 1 } } } } },
  }
  const definition = (spec: object, version = 'v1beta1') => {
    const text = JSON.stringify({
      apiVersion: `apiextensions.k8s.io/${version}`,
      spec: {
        group: 'example.com',
        names: { kind: 'Widget' },
        preserveUnknownFields: false,
        ...spec,
      },
    })
    const bytes = Buffer.from(text)
    return customKindOf({ bytes, start: 0, end: bytes.length })
  }
  const shapes = [
    definition({ validation: schema, versions: [{ name: 'v1' }] }),
    definition({ versions: [{ name: 'v1', schema }] }),
    definition({ versions: [{ name: 'v1', schema }] }, 'v1'),
    definition({ validation: schema, version: 'v1' }),
  ]
  for (const kind of shapes) {
    if (kind instanceof NotExact) throw new Error(kind.reason)
    t.equal(
      viewText(kind, goJson(objectWith({ spec: { b: 1 } }))),
      served(objectWith({ spec: { a: 1 } })),
    )
  }
  const old = definition({ validation: schema, version: 'v1', preserveUnknownFields: undefined })
  if (old instanceof NotExact) throw new Error(old.reason)
  t.equal(
    viewText(old, goJson(objectWith({ spec: { b: 1 } }))),
    served(objectWith({ spec: { b: 1 } })),
  )
  t.ok(definition({ version: undefined }) instanceof NotExact)
})

t.test('a value that cannot be served says why', async t => {
  const object = objectWith({})
  for (const [value, reason] of [
    [[], 'value is not a JSON object'],
    [{ ...object, kind: 5 }, 'value has no apiVersion or no kind'],
    [{ ...object, apiVersion: null }, 'value has no apiVersion or no kind'],
    [{ ...object, metadata: 5 }, 'value has no metadata'],
    [{ ...object, kind: 'Other' }, 'value is of another kind'],
    [{ ...object, apiVersion: 'example.com/v9' }, 'value is of a version that is not defined'],
  ] as const) {
    t.match(viewText(plain, JSON.stringify(value), 'v1'), { reason })
  }
})

t.test('defaults are counted while they are filled in', async t => {
  const itemsOf = (defaultValue: unknown): object => ({
    properties: {
      list: { items: { properties: { text: { default: defaultValue } } } },
      map: { additionalProperties: { properties: { text: { default: defaultValue } } } },
      nulls: { items: { default: defaultValue } },
    },
  })
  const kind = kindOf({ v1: itemsOf('x'.repeat(100_000)) })
  const few = Array.from({ length: 10 }, () => ({}))
  const shown = viewText(kind, goJson(objectWith({ list: few })))
  t.equal((shown as string).match(/x{100000}/g)?.length, 10)
  const many = Array.from({ length: 4_000 }, () => ({}))
  const reason = 'the defaults of its definition make more than 1572864 bytes of it'
  for (const rest of [
    { list: many },
    { map: Object.fromEntries(many.map((value, i) => [`k${i}`, value])) },
    { nulls: many.map(() => null) },
  ]) {
    t.match(viewText(kind, goJson(objectWith(rest))), { reason })
  }
  const values = kindOf({ v1: itemsOf(Array.from({ length: 1_000 }, () => [])) })
  t.match(viewText(values, goJson(objectWith({ list: many.slice(0, 200) }))), { reason })
  const nested = { items: { default: [null], items: { default: [null] } } }
  const inner = kindOf({ v1: { properties: { list: nested } } })
  t.type(viewText(inner, goJson(objectWith({ list: [null] }))), 'string')
})
