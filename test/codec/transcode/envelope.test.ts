import t from 'tap'
import { hasEnvelope, readEnvelope } from '../../../lib/codec/transcode/envelope.ts'

const typeMeta = '0a090a0276311203506f64'

t.test('an envelope names the kind and the window of the object', async t => {
  const bytes = Buffer.from(`ffff6b387300${typeMeta}1202abcd1a002200ff`, 'hex')
  t.ok(hasEnvelope(bytes, 2, bytes.length - 1))
  t.strictSame(readEnvelope(bytes, 2, bytes.length - 1), {
    apiVersion: 'v1',
    kind: 'Pod',
    rawStart: 19,
    rawEnd: 21,
  })
})

t.test('what no kube-apiserver writes is not exact', async t => {
  for (const [hex, reason] of [
    ['', 'value has no protobuf envelope'],
    ['6b3873', 'value has no protobuf envelope'],
    ['7b7d7b7d', 'value has no protobuf envelope'],
    [`6b387300${typeMeta}1205abcd`, 'envelope is malformed'],
    [`6b3873000aff01`, 'envelope is malformed'],
    [`6b3873000a020a09`, 'envelope is malformed'],
    [`6b387300${typeMeta}12001200`, 'envelope repeats field 2'],
    [`6b387300${typeMeta}2a00`, 'envelope has field 5 that we do not know'],
    [`6b387300${typeMeta}1001`, 'envelope has field 2 that we do not know'],
    [`6b3873000a021a00`, 'envelope has field 3 that we do not know'],
    [`6b387300${typeMeta}12001a0161`, 'envelope has a content encoding or a content type'],
    [`6b387300${typeMeta}f2ffffff0f00`, 'envelope has field 536870910 that we do not know'],
  ] as const) {
    const bytes = Buffer.from(hex, 'hex')
    t.match(readEnvelope(bytes, 0, bytes.length), { reason }, hex)
  }
})
