import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { VerifiedLayouts } from '../../../lib/codec/json/verified-layouts.ts'
import { JsonVerifier } from '../../../lib/codec/json/verify.ts'
import { rootMetadataNode } from '../../../lib/codec/served/structural/object-meta-node.ts'
import { kindOf, viewText } from '../../support/kube/custom.ts'

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        isOn: { type: 'boolean', default: true },
        port: { 'x-kubernetes-int-or-string': true },
        note: { type: 'string', nullable: true },
        names: { type: 'array', items: { type: 'string' } },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
  },
}

/** The values in place of a leaf: in the form of Go or not, of the right type or not. */
const leaves =
  '"" "x" "2026-02-28T12:00:00Z" "2026-02-30T12:00:00Z" "<" "\\u003c" "é" "\\n" "\\u000a" "v1" 0 1 -0 -1 01 1.5 1.50 1e5 100000 ' +
  '12345678901234567 1e400 true false tru null {} [] {"a":1} " '
/** Texts with a gap for each leaf: a text, a time, a number or a boolean. */
const texts = [
  '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"creationTimestamp":T,"generation":N,"labels":{"a":_},' +
    '"managedFields":[{"apiVersion":_,"fieldsType":"FieldsV1","fieldsV1":{"f:a":{}},"manager":_,"operation":_,"time":T}],' +
    '"name":_,"ownerReferences":[{"apiVersion":_,"controller":B,"kind":_,"name":_,"uid":_}],"uid":_},' +
    '"spec":{"any":_,"isOn":B,"names":[_,_],"note":_,"port":_,"size":N}}',
  '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"deletionGracePeriodSeconds":N,"generation":N,"name":_},' +
    '"spec":{"isOn":B,"template":{"apiVersion":_,"kind":_,"metadata":{"creationTimestamp":T,"name":_},"spec":_}}}',
  '{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"generation":1,"name":_},"spec":{"isOn":true}}',
  '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generation":1,"name":_,"resourceVersion":_},"spec":{"isOn":B}}',
]

const usual: Readonly<Record<string, string>> = {
  _: '"x"',
  T: '"2026-02-28T12:00:00Z"',
  N: '1',
  B: 'true',
}

/** Most leaves are what they should be, so that many objects are proven and some are like one
 *  before. */
const filled = fc
  .record({
    text: fc.constantFrom(...texts),
    picks: fc.array(
      fc.oneof(
        { arbitrary: fc.constant(undefined), weight: 12 },
        { arbitrary: fc.constantFrom(...leaves.split(' ')), weight: 1 },
      ),
      { minLength: 24, maxLength: 24 },
    ),
    tail: fc.constantFrom('', '', '\n', ' ', 'x'),
  })
  .map(({ text, picks, tail }) => {
    let i = 0
    const filledIn = text.replace(
      /(?<=[:[,])[_TNB](?=[,}\]])/g,
      leaf => picks[i++] ?? usual[leaf] ?? '',
    )
    return filledIn + tail
  })

t.test('an object is served the same whatever was served before it', async () => {
  for (const schemas of [
    { v1: undefined, v2: undefined },
    { v1: schema, v2: schema },
  ]) {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(filled, fc.constantFrom('v1', 'v2')), { maxLength: 8 }),
        objects => {
          const busy = kindOf(schemas)
          for (const [text, version] of objects) {
            assert.deepEqual(
              viewText(busy, text, version),
              viewText(kindOf(schemas), text, version),
            )
          }
        },
      ),
      { numRuns: 750 },
    )
  }
})

t.test('like objects are recognised, and unlike ones are not', async t => {
  const layouts = new VerifiedLayouts()
  const verifier = new JsonVerifier()
  const object = (spec: string, name = 'a'): Uint8Array =>
    Buffer.from(
      `{"apiVersion":"g/v1","kind":"W","metadata":{"generation":1,"name":"${name}","uid":"u"},"spec":${spec}}`,
    )
  const first = object('{"a":1,"b":[true,"x"],"c":null}')
  const options = { order: 'sorted', root: undefined, metadata: rootMetadataNode } as const
  t.notOk(layouts.match(verifier, first, 0, first.length), 'nothing is known yet')
  t.ok(verifier.verify(first, 0, first.length, options))
  layouts.remember(verifier)
  const isLike = (text: Uint8Array): boolean => layouts.match(verifier, text, 0, text.length)
  t.ok(isLike(first))
  t.ok(isLike(object('{"a":22,"b":[false,"longer"],"c":null}', 'another')))
  t.notOk(isLike(object('{"a":22.5,"b":[false,"x"],"c":null}')), 'integers stay integers')
  t.notOk(isLike(object('{"a":0,"b":[false,"x"],"c":null}')), 'zeros may be left out')
  t.notOk(isLike(object('{"a":1,"b":[false,"x"],"c":1}')), 'null is no leaf')
  t.notOk(isLike(object('{"a":1,"b":["x"],"c":null}')))
  t.notOk(isLike(object('{"a":1,"b":[true,""],"c":null}')), 'empty texts may be left out')
  t.notOk(isLike(object('{"a":1,"b":[true,"x"],"c":null').subarray(0, -1)))
})
