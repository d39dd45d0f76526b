import { strictEqual } from 'node:assert'
import t from 'tap'
import { ByteWriter } from '../../../../lib/base/bytes/byte-writer.ts'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { varintLength, writeVarint } from '../../../../lib/base/bytes/varint.ts'
import { appendCanonical, isCanonical } from '../../../../lib/codec/served/stored/canonical.ts'
import { hasSameShape } from '../../../../lib/codec/served/stored/older-versions.ts'
import { readEnvelope } from '../../../../lib/codec/transcode/envelope.ts'
import { encodeValue } from '../../../../lib/codec/transcode/encode/encoders.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { loadVectors } from '../../transcode/vectors.ts'

t.test('what Go wrote is canonical, and is written anew as it was', async t => {
  let count = 0
  for (const { apiVersion, kind, pb } of loadVectors()) {
    const type = schemaOf().findKind(apiVersion, kind)?.type
    const bytes = pb
    const envelope = readEnvelope(bytes, 0, bytes.length)
    if (type === undefined || envelope instanceof NotExact || !type.hasProtobuf) continue
    const { rawStart: start, rawEnd: end } = envelope
    strictEqual(isCanonical(type, bytes, start, end), true, `${apiVersion} ${kind}`)
    const out = new ByteWriter()
    appendCanonical(out, type, { bytes, start, end })
    strictEqual(Buffer.from(out.copy()).equals(bytes.subarray(start, end)), true, kind)
    count++
  }
  t.ok(count > 1000, `${count} vectors`)
})

t.test(
  'a message is not canonical without a field that is always written, out of order, or with more',
  async t => {
    const type = schemaOf().messageType('core/v1.PodCondition')
    const whole = Buffer.from('0a015212001a0022002a0032003800', 'hex')
    t.equal(isCanonical(type, whole, 0, whole.length), true)
    t.equal(isCanonical(type, whole, 0, whole.length - 2), false, 'the last is not there')
    const endless = Buffer.from('0a80', 'hex')
    const beyond = Buffer.concat([endless, Buffer.alloc(200, 1)])
    t.equal(isCanonical(type, beyond, 0, endless.length), false, 'a length that is cut off')
    const more = Buffer.concat([whole, Buffer.from('4001', 'hex')])
    t.equal(isCanonical(type, more, 0, more.length), false, 'a field that nobody knows')
    const far = Uint8Array.from([...whole, 0x80, 0x80, 0x01, 0x00])
    t.equal(isCanonical(type, far, 0, far.length), false, 'a field of a number that is too high')
    const disordered = Buffer.concat([whole.subarray(3), whole.subarray(0, 3)])
    t.equal(isCanonical(type, disordered, 0, disordered.length), false, 'in another order')
    for (let end = 1; end < whole.length; end++) {
      t.equal(isCanonical(type, Uint8Array.from(whole).slice(0, end), 0, end), false, 'cut off')
    }
    // The last field as a varint of two bytes, as one of four bytes, and as one of eight.
    for (const hex of ['388001', '3d00000000', '390000000000000000']) {
      const number = Buffer.concat([whole.subarray(0, -2), Buffer.from(hex, 'hex')])
      t.equal(isCanonical(type, number, 0, number.length), true, hex)
      t.equal(isCanonical(type, number, 0, number.length - 1), false, `${hex} is cut off`)
    }
    for (const size of [127, 128, 16_383, 16_384, 2_097_152]) {
      const text = Buffer.concat([Buffer.from([0x0a]), varint(size), Buffer.alloc(size, 'a')])
      const long = Buffer.concat([text, whole.subarray(3)])
      t.equal(isCanonical(type, long, 0, long.length), true, `a text of ${size} bytes`)
      t.equal(isCanonical(type, text, 0, text.length - 1), false, 'a text that is cut off')
    }
  },
)

t.test('what is always written is there in what is written anew', async t => {
  const type = schemaOf().messageType('core/v1.PodCondition')
  const out = new ByteWriter()
  appendCanonical(out, type, { bytes: Buffer.alloc(0), start: 0, end: 0 })
  t.same(out.copy(), encodeValue(type, {}))
})

t.test('shapes are the same field for field', async t => {
  const typeOf = (apiVersion: string, kind: string) => schemaOf().findKind(apiVersion, kind)!.type
  t.ok(hasSameShape(typeOf('batch/v1', 'CronJob'), typeOf('batch/v1beta1', 'CronJob')))
  t.notOk(hasSameShape(typeOf('v1', 'Event'), typeOf('events.k8s.io/v1', 'Event')))
})

function varint(value: number): Buffer {
  const bytes = Buffer.alloc(varintLength(value))
  writeVarint(bytes, 0, value)
  return bytes
}
