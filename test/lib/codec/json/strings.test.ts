import { strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { appendJsonString, compareStrings } from '../../../../lib/codec/json/strings.ts'
import { ByteWriter } from '../../../../lib/wire/byte-writer.ts'
import { goJson } from '../../../support/kube/go-json.ts'

function appended(append: (out: ByteWriter) => void): Buffer {
  // Too small, so that it has to grow, and with something before.
  const out = new ByteWriter(4)
  out.appendAscii('ab')
  append(out)
  const copy = Buffer.from(out.copy())
  strictEqual(copy.subarray(0, 2).toString(), 'ab')
  return copy.subarray(2)
}

t.test('JSON strings are ordered by what they stand for', async t => {
  // Each is below the next one; those of one line are the same.
  const inOrder = [
    ['""'],
    [String.raw`"\t"`, String.raw`"\u0009"`],
    [String.raw`"\""`, String.raw`"\u0022"`],
    [String.raw`"\"a"`],
    [String.raw`"\"b"`],
    ['"A"', String.raw`"\u0041"`],
    [String.raw`"A\u0041"`, '"AA"'],
    [String.raw`"\\a"`],
    [String.raw`"\\b"`],
    ['"a"'],
    ['"é"', String.raw`"\u00e9"`],
    ['"\u{1f600}"', String.raw`"\ud83d\ude00"`],
  ]
  const flat = inOrder.flatMap((texts, rank) => texts.map(text => ({ text, rank })))
  for (const left of flat) {
    for (const right of flat) {
      const bytes = Buffer.from(`${left.text}${right.text}`)
      const order = compareStrings(bytes, 1, Buffer.byteLength(left.text) + 1)
      const wanted = Math.sign(left.rank - right.rank)
      t.equal(Math.sign(order), wanted, `${left.text} and ${right.text}`)
    }
  }
})

t.test('JSON strings are escaped as Go escapes them', async () => {
  const units = fc.constantFrom(
    'a',
    '<',
    '>',
    '&',
    '"',
    '\\',
    '\n',
    '\u0001',
    '\u007f',
    'é',
    '\u2028',
    '\u2029',
    '日',
    '😀',
  )
  fc.assert(
    fc.property(fc.string({ unit: units }), text => {
      strictEqual(appended(out => appendJsonString(out, text)).toString(), goJson(text))
    }),
  )
})

t.test('half a character is replaced in a JSON string', async t => {
  t.equal(appended(out => appendJsonString(out, 'a\ud800b')).toString(), '"a\ufffdb"')
  // The text of an escape is no escape.
  t.equal(appended(out => appendJsonString(out, '\\ud800')).toString(), '"\\\\ud800"')
})
