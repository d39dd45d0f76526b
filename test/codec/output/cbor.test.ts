import { decode } from 'cborg'
import fc from 'fast-check'
import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { type CborType, cborFromJson } from '../../../lib/codec/output/cbor.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { anyCharacter } from '../../support/kube/any-character.ts'

function cbor(json: string, type?: CborType): string {
  const written = cborFromJson(Buffer.from(json), type, 'bare')
  if (written instanceof NotExact) return written.reason
  return Buffer.from(written).toString('hex')
}

t.test('values are as short as they can be', async t => {
  for (const [json, hex] of [
    ['null', 'f6'],
    ['true', 'f5'],
    ['false', 'f4'],
    ['0', '00'],
    ['23', '17'],
    ['24', '1818'],
    ['256', '190100'],
    ['65536', '1a00010000'],
    ['4294967296', '1b0000000100000000'],
    ['9223372036854775807', '1b7fffffffffffffff'],
    ['-1', '20'],
    ['-25', '3818'],
    ['-9223372036854775808', '3b7fffffffffffffff'],
    ['1.5', 'f93e00'],
    ['1.0', 'f93c00'],
    ['-0.0', 'f98000'],
    ['5.960464477539063e-8', 'f90001'],
    ['0.00006103515625', 'f90400'],
    ['100000.0', 'fa47c35000'],
    ['1.1', 'fb3ff199999999999a'],
    ['1e300', 'fb7e37e43c8800759c'],
    ['""', '40'],
    ['"a"', '4161'],
    ['"\\u00fc"', '42c3bc'],
    ['[1,[2]]', '82018102'],
    ['{}', 'a0'],
    ['{"bb":1,"a":2,"aa":3}', 'a3416102426161034262620' + '1'],
  ] as const) {
    t.equal(cbor(json), hex, json)
  }
})

t.test('a document says that it is CBOR', async t => {
  const tagged = cborFromJson(Buffer.from('{}'), undefined, 'tagged')
  t.equal(tagged instanceof NotExact ? '' : Buffer.from(tagged).toString('hex'), 'd9d9f7a0')
  t.match(cbor('{'), 'value is not JSON')
})

t.test('base64 is bytes where the schema says so', async t => {
  const secret = schemaOf().messageType('core/v1.Secret')
  t.equal(
    cbor('{"data":{"k":"AQI="},"type":"AQI="}', secret),
    'a24464617461a1416bd64201024474797065444151493d',
  )
  const webhook = schemaOf().messageType('admissionregistration/v1.MutatingWebhookConfiguration')
  t.equal(
    cbor('{"webhooks":[{"clientConfig":{"caBundle":"AQI="}}]}', webhook),
    'a148776562686f6f6b7381a14c636c69656e74436f6e666967a14863' + '6142756e646c65d6420102',
  )
})

t.test('what is written reads back as the same', async () => {
  const text = (value: unknown): unknown => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString()
    // The decoder takes for a big integer what JSON.parse still takes for a number.
    if (typeof value === 'bigint') return Number(value)
    if (Array.isArray(value)) return value.map(text)
    if (value instanceof Map) {
      return Object.fromEntries([...value].map(([k, v]) => [text(k), text(v)]))
    }
    return value
  }
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), value => {
      const json = JSON.stringify(value)
      const written = cborFromJson(Buffer.from(json), undefined, 'bare') as Uint8Array
      deepStrictEqual(text(decode(written, { useMaps: true, allowBigInt: true })), JSON.parse(json))
    }),
    { examples: [[{ '': Number.MIN_SAFE_INTEGER }]] },
  )
})

t.test('a float has 16 bits, or 32, if it loses nothing', async t => {
  const view = new DataView(new ArrayBuffer(8))
  const hex = (bytes: number): string => Buffer.from(view.buffer, 0, bytes).toString('hex')
  const text = (value: number): string =>
    Number.isInteger(value) && !/e/.test(String(value))
      ? `${Object.is(value, -0) ? '-0' : value}.0`
      : String(value)
  /** The value of a float of 16 bits, by its definition. */
  const valueOf = (sign: number, exponent: number, fraction: number): number =>
    (sign === 1 ? -1 : 1) *
    (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15))
  let compared = 0
  for (const sign of [0, 1]) {
    for (let exponent = 0; exponent < 31; exponent++) {
      for (const fraction of [0, 1, 2, 3, 0x155, 0x200, 0x2aa, 0x3fe, 0x3ff]) {
        const value = valueOf(sign, exponent, fraction)
        const half = ((sign << 15) | (exponent << 10) | fraction).toString(16).padStart(4, '0')
        t.equal(cbor(text(value)), `f9${half}`, text(value))
        if (value === 0) continue
        // Its neighbours of 32 and of 64 bits.
        view.setFloat32(0, value)
        const bits = view.getUint32(0)
        for (const next of [bits - 1, bits + 1]) {
          view.setUint32(0, next)
          t.equal(cbor(text(view.getFloat32(0))), `fa${hex(4)}`)
        }
        view.setFloat64(0, value)
        view.setBigUint64(0, view.getBigUint64(0) + 1n)
        t.equal(cbor(text(view.getFloat64(0))), `fb${hex(8)}`)
        compared++
      }
    }
  }
  t.equal(compared, 2 * 31 * 9 - 2)
  for (const [json, written] of [
    ['2.9802322387695312e-8', 'fa33000000'],
    ['65520.0', 'fa477ff000'],
    ['65536.0', 'fa47800000'],
    ['9223372036854775808', 'fa5f000000'],
    ['-9223372036854775809', 'fadf000000'],
    ['18446744073709551616', 'fa5f800000'],
  ] as const) {
    t.equal(cbor(json), written, json)
  }
})

t.test('what is no JSON, or nested too deep, has a reason', async t => {
  t.equal(cbor('{'), 'value is not JSON, or nested too deep')
  t.equal(cbor('['.repeat(100_000)), 'value is not JSON, or nested too deep')
})
