import { strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import {
  appendJsonString,
  canonicalStringEnd,
  compareStrings,
  decodeString,
  inputOf,
  stringEnd,
} from '../../../lib/go/json/strings.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { goJson } from '../../support/kube/go-json.ts'

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

t.test('an escape is decoded as Go does: half a character is replaced', async t => {
  const units = [0, 0x22, 0x41, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff]
  const escape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`
  for (const first of units) {
    for (const second of units) {
      for (const between of ['', 'x', '\\n']) {
        const text = escape(first) + between + escape(second).toUpperCase().replace('U', 'u')
        const bytes = Buffer.from(`${text}x"`)
        const expected = Buffer.from(JSON.parse(`"${text}x"`) as string).toString()
        t.equal(decodeString(bytes, 0, bytes.length - 1), expected, text)
      }
    }
  }
})

t.test('a string ends with its window, whatever comes behind', async t => {
  const pieces = [
    'a',
    '\\n',
    '\\/',
    '\\"',
    '\\u0041',
    '\\ud83d\\ude00',
    '\\ud83dx',
    'é',
    '日',
    '😀',
    '\u2028',
  ]
  const whole = Buffer.from(pieces.join(''))
  for (let end = 0; end <= whole.length; end++) {
    const alone = Buffer.from(whole.subarray(0, end))
    for (let start = 0; start <= end; start++) {
      const copy = Buffer.from(alone.subarray(start))
      const wanted = decodeString(copy, 0, copy.length)
      if (decodeString(whole, start, end) !== wanted) {
        t.equal(decodeString(whole, start, end), wanted)
      }
      const found = stringEnd(whole, start, end)
      const wantedEnd = stringEnd(copy, 0, copy.length)
      t.equal(found < 0 ? -1 : found - start, wantedEnd)
      const canonical = canonicalStringEnd(inputOf(whole), start, end)
      t.equal(
        canonical < 0 ? -1 : canonical - start,
        canonicalStringEnd(inputOf(copy), 0, copy.length),
      )
    }
  }
})

t.test(
  'what no JSON string may hold has no text, and bytes that are no UTF-8 are replaced',
  async t => {
    const decoded = (hex: string): string | undefined => {
      const bytes = Buffer.from(hex, 'hex')
      return decodeString(bytes, 0, bytes.length)
    }
    for (const hex of ['1f', '00', '22', '5c', '5c61', '5c75', '5c753030', '5c75303067', '610a']) {
      t.equal(decoded(hex), undefined, hex)
    }
    for (const [hex, text] of [
      ['80', '\ufffd'],
      ['7f', '\u007f'],
      ['20', ' '],
      ['c3', '\ufffd'],
      ['c3c3a9', '\ufffdé'],
      ['e280', '\ufffd\ufffd'],
      ['eda080', '\ufffd\ufffd\ufffd'],
      ['f09f988061', '😀a'],
      ['ff61', '\ufffda'],
    ] as const) {
      t.equal(decoded(hex), text, hex)
    }
  },
)

t.test('strings are ordered by their bytes, whether they have escapes or not', async t => {
  const texts = ['', 'a', 'ab', 'b', '"', '\\', 'a"', 'a\\', '!', '#', '[', ']', 'é', 'z\n', 'z\t']
  const written = (text: string): string[] => [
    JSON.stringify(text),
    `"${Array.from(text)
      .map(one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`,
  ]
  for (const left of texts) {
    for (const right of texts) {
      const wanted = Buffer.compare(Buffer.from(left), Buffer.from(right))
      for (const one of written(left)) {
        for (const other of written(right)) {
          const bytes = Buffer.from(one + other)
          const order = compareStrings(bytes, 1, Buffer.byteLength(one) + 1)
          t.equal(Math.sign(order), wanted, `${one} ${other}`)
        }
      }
    }
  }
})

t.test('a long string means the same as its parts', async t => {
  const parts = [
    'plain ',
    String.raw`\n\t\"\\\/\b\f\r`,
    String.raw`\u0041\u00e9`,
    'é€😀\u2028',
    String.raw`\ud83d\ude00`,
    String.raw`\ud83d `,
    '\u007f',
  ]
  for (const part of parts) {
    const one = decodeString(Buffer.from(part), 0, Buffer.byteLength(part))
    const long = Buffer.from(part.repeat(1_000))
    t.equal(decodeString(long, 0, long.length), one?.repeat(1_000), part)
  }
  const broken = Buffer.concat([Buffer.alloc(5_000, 'a'), Buffer.from([0xff, 0xc3])])
  t.equal(decodeString(broken, 0, broken.length), `${'a'.repeat(5_000)}\ufffd\ufffd`)
  for (const end of ['"', '\n', '\\', String.raw`\x`, String.raw`\u12`]) {
    const wrong = Buffer.from('a'.repeat(5_000) + end)
    const short = Buffer.from(`a${end}`)
    const expected = decodeString(short, 0, short.length)?.slice(1)
    const found = decodeString(wrong, 0, wrong.length)?.slice(5_000)
    t.equal(found, expected, JSON.stringify(end))
  }
})
