import t from 'tap'
import { canonicalStringEnd, inputOf } from '../../../lib/go/json/strings.ts'

/** True if the text between quotes is exactly what encoding/json writes. */
function isCanonical(text: string | Buffer): boolean {
  const bytes = Buffer.concat([Buffer.from('"'), Buffer.from(text), Buffer.from('",')])
  return canonicalStringEnd(inputOf(bytes), 1, bytes.length) === bytes.length - 1
}

/** The escapes are those of encoding/json's appendString with HTML escaping. */
const escaped = 'bfnrt"\\'.split('').map(letter => `\\${letter}`)
const unicode = ['0000', '0001', '001f', '003c', '003e', '0026', '2028', '2029', '000b', '001b']

t.test('a string is taken as it is if Go would write it so', async t => {
  for (const text of [
    '',
    'a',
    'abcd',
    'abcdefgh',
    '\u007f',
    'é',
    '日',
    '😀',
    '\u2027',
    '\u202a',
    '\u3028',
    '\u1029',
  ]) {
    t.ok(isCanonical(text), Buffer.from(text).toString('hex'))
  }
  for (const escape of [...escaped, ...unicode.map(digits => `\\u${digits}`)]) {
    // The same behind a whole word of four bytes, and before another one.
    for (const text of [escape, `abcd${escape}`, `${escape}abcd`, `ab${escape}`]) {
      t.ok(isCanonical(text), text)
    }
  }
})

t.test('a string that Go would write in another way is not', async t => {
  const others = ['\\/', '\\a', '\\x', '\\u0008', '\\u000c', '\\u000a', '\\u000d', '\\u0009']
  const plain = ['\\u0061', '\\u003C', '\\u00e9', '\\u2027', '\\u202a', '\\u0020', '\\u12', '\\u']
  const bytes = ['<', '>', '&', '\n', '\u0001', '\u001f', '\u2028', '\u2029']
  for (const text of [...others, ...plain, ...bytes]) {
    for (const padded of [text, `abcd${text}`, `${text}abcd`]) {
      t.notOk(isCanonical(padded), Buffer.from(padded).toString('hex'))
    }
  }
  for (const wrong of [
    [0xff],
    [0xc3],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
  ]) {
    t.notOk(isCanonical(Buffer.from(wrong)), wrong.join(' '))
  }
})

t.test('a string that does not end has no end', async t => {
  for (const text of ['"', '"abc', '"abcdefgh', '"\\', '"abc\\"', '"\\u202', '"é']) {
    const bytes = Buffer.from(text)
    t.equal(canonicalStringEnd(inputOf(bytes), 1, bytes.length), -1, text)
  }
})
