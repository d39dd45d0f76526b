import t from 'tap'
import fc from 'fast-check'
import {
  bytesFromKey,
  compareKeys,
  inRange,
  isEmptyRange,
  keyAfter,
  keyFromBytes,
  keyFromText,
  prefixEnd,
  prefixRange,
  singleKey,
  textFromKey,
} from '../../lib/base/keys.ts'
import { anyCharacter } from '../support/kube/any-character.ts'

const bytes = fc.uint8Array({ maxLength: 12 })

t.test('keys keep every byte and order as the bytes do', async t => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      t.equal(Buffer.compare(bytesFromKey(keyFromBytes(a)), a), 0)
      t.equal(Math.sign(compareKeys(keyFromBytes(a), keyFromBytes(b))), Buffer.compare(a, b))
    }),
  )
})

t.test('text becomes its UTF-8 bytes and comes back', async t => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), text => {
      t.equal(Buffer.compare(bytesFromKey(keyFromText(text)), Buffer.from(text)), 0)
      t.equal(textFromKey(keyFromText(text)), text)
    }),
  )
})

t.test('a prefix range holds exactly the keys that begin with the prefix', async t => {
  fc.assert(
    fc.property(bytes, bytes, (prefix, key) => {
      const begins = Buffer.compare(key.subarray(0, prefix.length), prefix) === 0
      t.equal(inRange(keyFromBytes(key), prefixRange(keyFromBytes(prefix))), begins)
    }),
  )
  t.equal(prefixEnd(keyFromBytes(Buffer.of(0xff, 0xff))), undefined)
  t.equal(prefixEnd(keyFromText('a\u00ff')), keyFromBytes(Buffer.of(0x61, 0xc3, 0xc0)))
})

t.test('the range of a single key holds that key and no other', async t => {
  const range = singleKey(keyFromText('a'))
  t.ok(inRange(keyFromText('a'), range))
  t.notOk(inRange(keyAfter(keyFromText('a')), range))
  t.notOk(isEmptyRange(range))
  t.ok(isEmptyRange({ start: keyFromText('b'), end: keyFromText('a') }))
})
