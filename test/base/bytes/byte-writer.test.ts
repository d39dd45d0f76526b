import { strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import {
  appendText,
  appendTextField,
  appendVarint,
  ByteWriter,
} from '../../../lib/base/bytes/byte-writer.ts'
import { varintLength } from '../../../lib/base/bytes/varint.ts'

function appended(append: (out: ByteWriter) => void): Buffer {
  // Too small, so that it has to grow, and with something before.
  const out = new ByteWriter(4)
  out.appendAscii('ab')
  append(out)
  const copy = Buffer.from(out.copy())
  strictEqual(copy.subarray(0, 2).toString(), 'ab')
  return copy.subarray(2)
}

t.test('half a character is replaced', async t => {
  t.equal(appended(out => appendText(out, 'a\ud800b')).toString(), 'a\ufffdb')
})

t.test('varints are as long as they say', async () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), value => {
      const bytes = appended(out => appendVarint(out, value))
      strictEqual(bytes.length, varintLength(value))
      let read = 0n
      for (const [i, byte] of bytes.entries()) read |= BigInt(byte & 0x7f) << BigInt(7 * i)
      strictEqual(Number(read), value)
    }),
  )
})

t.test('a field of text has a tag and a length', async t => {
  t.same([...appended(out => appendTextField(out, 16, 'ab'))], [0x82, 0x01, 2, 0x61, 0x62])
})
