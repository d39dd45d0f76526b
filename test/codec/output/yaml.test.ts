import fc from 'fast-check'
import { strictEqual, deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { cborFromJson } from '../../../lib/codec/output/cbor.ts'
import { yamlFromJson, yamlItemFromJson } from '../../../lib/codec/output/yaml.ts'
import { exchanges } from '../../golden/load.ts'

function yaml(value: unknown): string {
  return yamlText(JSON.stringify(value))
}

function yamlText(json: string): string {
  const written = yamlFromJson(Buffer.from(json))
  return written instanceof NotExact
    ? `not exact: ${written.reason}`
    : Buffer.from(written).toString()
}

t.test('texts are quoted only where reading them back would give something else', async t => {
  for (const [text, written] of [
    ['plain', 'plain'],
    ['two words', 'two words'],
    ['', '""'],
    ['true', '"true"'],
    ['Off', '"Off"'],
    ['y', '"y"'],
    ['null', '"null"'],
    ['~', '"~"'],
    ['<<', '"<<"'],
    ['1', '"1"'],
    ['08', '"08"'],
    ['1_000', '"1_000"'],
    ['+.5e3', '"+.5e3"'],
    ['.5', '".5"'],
    ['.inf', '".inf"'],
    ['0x1F', '"0x1F"'],
    ['0b101', '"0b101"'],
    ['0b102', '0b102'],
    ['2001-02-28', '"2001-02-28"'],
    ['2001-02-29', '2001-02-29'],
    ['2000-02-29', '"2000-02-29"'],
    ['2001-01-01T00:00:00+01:60', '"2001-01-01T00:00:00+01:60"'],
    ['2001-01-01T00:00:00+01:61', '2001-01-01T00:00:00+01:61'],
    ['2001-01-01T23:59:59Z', '"2001-01-01T23:59:59Z"'],
    ['2001-01-01T24:00:00Z', '2001-01-01T24:00:00Z'],
    ['2001-01-01T23:60:00Z', '2001-01-01T23:60:00Z'],
    ['0x10000000000000000', '0x10000000000000000'],
    ['1:30', '"1:30"'],
    ['1:60', '1:60'],
    ['1e999', '1e999'],
    ['2026-11-21', '"2026-11-21"'],
    ['2026-02-30', '2026-02-30'],
    ['2026-11-21T04:18:40Z', '"2026-11-21T04:18:40Z"'],
    ['2026-1-2 3:4:5', '"2026-1-2 3:4:5"'],
    ['10.0.0.1', '10.0.0.1'],
    ['1500m', '1500m'],
    ['v1', 'v1'],
    ['- a', "'- a'"],
    ['-a', '-a'],
    ['-', "'-'"],
    ['?', "'?'"],
    ['a: b', "'a: b'"],
    ['a:b', 'a:b'],
    ['a:', "'a:'"],
    ['a #b', "'a #b'"],
    ['a#b', 'a#b'],
    ["'it", "'''it'"],
    ['{}', "'{}'"],
    ['*', "'*'"],
    ['@at', "'@at'"],
    ['--- a', "'--- a'"],
    [' lead', "' lead'"],
    ['trail ', "'trail '"],
    ['tab\there', '"tab\\there"'],
    ['\u{1f600}', '"\\U0001F600"'],
    ['é', 'é'],
    ['\u0085', '"\\N"'],
    ['a\u2028b', "'a\u2028  b'"],
    ['\u0000\u0007\u001b\u007f', '"\\0\\a\\e\\x7F"'],
  ] as const) {
    t.equal(
      yamlText(
        JSON.stringify({ k: text }).replaceAll('\u0085', '\\u0085').replaceAll('\u007f', '\\u007f'),
      ),
      `k: ${written}\n`,
      encodeURIComponent(text),
    )
  }
})

t.test('texts of several lines stand in blocks', async t => {
  for (const [text, written] of [
    ['a\nb', '|-\n  a\n  b'],
    ['a\nb\n', '|\n  a\n  b'],
    ['a\n\n', '|+\n  a\n'],
    ['\n', '|2+\n'],
    [' a\nb', '|2-\n   a\n  b'],
    ['a\n b', '|-\n  a\n   b'],
    ['a \nb', '"a \\nb"'],
    ['a\nb ', '"a\\nb "'],
    ['a\tb\nc', '"a\\tb\\nc"'],
  ] as const) {
    t.equal(yaml({ k: text }), `k: ${written}\n`, JSON.stringify(text))
  }
})

t.test('long texts are folded at the first space behind column 80', async t => {
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`).join(' ')
  const lines = yaml({ key: words, quoted: `${words}: x` }).split('\n')
  t.equal(
    lines[0],
    'key: word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12',
  )
  t.match(lines[1], /^ {2}word13 /)
  t.match(lines[3], /^quoted: 'word0/)
})

t.test('numbers keep their value', async t => {
  for (const [json, written] of [
    ['9007199254740993', '9007199254740993'],
    ['-0', '0'],
    ['18446744073709551615', '18446744073709551615'],
    ['18446744073709551616', '1.8446744073709552e+19'],
    ['1e21', '1e+21'],
    ['1.50', '1.5'],
    ['1.0', '1'],
    ['1234567.5', '1.2345675e+06'],
    ['123456.5', '123456.5'],
    ['0.00001', '1e-05'],
    ['0.0001', '0.0001'],
    ['-2.5', '-2.5'],
  ] as const) {
    t.equal(yamlText(`{"k":${json}}`), `k: ${written}\n`, json)
  }
})

t.test('names are sorted as people would: digits as numbers, letters last', async t => {
  const names = ['a10', 'a9', 'a-b', 'aB', 'ab', 'a', 'f:x', '.', 'k:{}', 'a09', 'é', '1']
  t.equal(
    yaml(Object.fromEntries(names.map(name => [name, 0]))).replaceAll(': 0\n', '|'),
    '.|"1"|a|a-b|a9|a09|a10|aB|ab|f:x|k:{}|é|',
  )
})

t.test('long names and names of several lines stand behind a question mark', async t => {
  const long = 'n'.repeat(129)
  t.equal(yaml({ [long]: { a: [1] } }), `? ${long}\n: a:\n  - 1\n`)
  t.equal(yaml({ 'a\nb': [1] }), '? |-\n  a\n  b\n: - 1\n')
})

t.test('what the server could not write either is not exact', async t => {
  t.match(yamlText('{"k":"\u007f"}'), 'not exact')
  t.match(yamlText('{"k":"\\ud83d\\ude00"}'), 'not exact')
  t.match(yamlText('{"k":"\\\\\\ude00"}'), 'not exact')
  t.equal(yamlText('{"k":"\\\\ude00"}'), 'k: \\ude00\n', 'a backslash, and no half of a pair')
  t.match(yaml({ ['n'.repeat(1001)]: 1 }), 'not exact')
  t.match(yamlText('{"k":'), 'not exact')
  t.match(yamlText('{"k" 1}'), 'not exact')
})

t.test('what is written reads back as the same, and items as they stand in a list', async () => {
  const text = fc.oneof(
    fc.string({
      unit: fc.constantFrom(...Array.from('ab :#-\n\'"\\{[]},&*!|>%@`?1~é')),
      maxLength: 60,
    }),
    fc.constantFrom('true', 'null', '1', '0x1', '- a', 'a\nb\n', 'x '.repeat(60)),
  )
  const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(text, tie('tree'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))
  fc.assert(
    fc.property(tree, value => {
      const written = yaml({ k: value })
      deepStrictEqual(parse(written, { version: '1.1', logLevel: 'silent' }), { k: value })
      const item = yamlItemFromJson(Buffer.from(JSON.stringify(value))) as Uint8Array
      strictEqual(`k:\n${Buffer.from(item).toString()}`, yaml({ k: [value] }))
    }),
    { numRuns: 300 },
  )
})

t.test('recorded YAML is what the recorded JSON becomes', async t => {
  let compared = 0
  for (const { request, response, at_revision: at, id } of exchanges()) {
    if (response.headers['content-type'] !== 'application/yaml') continue
    const isView = String(request.headers['Accept']).includes('as=')
    // Tables show ages, and no two were made in the same second.
    if (String(request.headers['Accept']).includes('as=Table')) continue
    const twin = exchanges().find(
      other =>
        other.request.path === request.path &&
        other.response.status === response.status &&
        other.at_revision === at &&
        other.response.body?.startsWith('{') === true &&
        String(other.request.headers['Accept']).includes('as=') === isView,
    )
    if (twin === undefined) continue
    t.equal(yamlText(twin.response.body ?? ''), response.body, id)
    compared++
  }
  t.ok(compared >= 8)
})

t.test('what is nested too deep for us is not exact, and ends nothing', async t => {
  for (const depth of [10_000, 500_000]) {
    const json = Buffer.from(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)
    t.type(yamlFromJson(json), NotExact)
    t.type(cborFromJson(json, undefined, 'bare'), NotExact)
  }
})

/** keyList.Less of go-yaml v2. */
t.test('names are in the order in which go-yaml writes them', async t => {
  const inOrder = [
    '1',
    '2',
    '10',
    'a',
    'a-',
    'a00b',
    'a0b',
    'a1',
    'a01',
    'a2',
    'a10',
    'aa',
    'b',
    'é',
  ]
  const shuffled = Object.fromEntries([...inOrder].reverse().map(name => [`x${name}`, 1]))
  const written = yamlText(JSON.stringify(shuffled))
  t.strictSame(
    [...written.matchAll(/^x(.*): 1$/gm)].map(([, name]) => name),
    inOrder,
  )
  const zeros = yamlText('{"01":1,"000":1,"1":1}')
  t.equal(zeros, '"000": 1\n"1": 1\n"01": 1\n')
})

t.test('a text is quoted where YAML would read a number or a time, at each bound', async t => {
  const quoted = [
    '1900-02-28',
    '2000-02-29',
    '2004-02-29',
    '2001-04-30',
    '2001-06-30',
    '2001-09-30',
    '2001-11-30',
    '2001-12-31',
    '2001-1-1',
    '2001-01-01T0:0:0Z',
    '2001-01-01T23:59:59Z',
    '2001-01-01 23:59:59',
    '2001-01-01T00:00:00+24:00',
    '0xffffffffffffffff',
    '-0x8000000000000000',
    '+0x7fffffffffffffff',
    '0b1',
    '0o7',
    '9',
    '09',
    '-1',
    '+1',
    '1.',
    '1e5',
    '1e308',
    '.5e1',
  ]
  const plain = [
    '1900-02-29',
    '2100-02-29',
    '2001-02-29',
    '2001-04-31',
    '2001-06-31',
    '2001-09-31',
    '2001-11-31',
    '2001-12-32',
    '2001-00-01',
    '2001-13-01',
    '2001-01-00',
    '2001-01-01T24:00:00Z',
    '2001-01-01T00:60:00Z',
    '2001-01-01T00:00:60Z',
    '2001-01-01 24:00:00',
    '2001-01-01 00:60:00',
    '2001-01-01 00:00:60',
    '2001-01-01T00:00:00+25:00',
    '2001-01-01T00:00:00+00:61',
    '0x10000000000000000',
    '-0x8000000000000001',
    '+0x8000000000000000',
    '0b2',
    '0o8',
    '0xg',
    '1e309',
    '.5e',
    ':9',
    '/9',
  ]
  for (const text of quoted) t.equal(yaml(text), `"${text}"\n`, text)
  for (const text of plain) t.equal(yaml(text), text === ':9' ? ':9\n' : `${text}\n`, text)
})

t.test(
  'characters that cannot be printed are escaped, with as many digits as they need',
  async t => {
    for (const [text, written] of [
      ['\u0001', '\\x01'],
      ['\u001f', '\\x1F'],
      ['\u{10000}', '\\U00010000'],
      ['\u{1f600}', '\\U0001F600'],
      ['\u{10ffff}', '\\U0010FFFF'],
      ['\u001b', '\\e'],
      ['\0', '\\0'],
    ] as const) {
      t.equal(yaml(text), `"${written}"\n`, written)
    }
    for (const text of ['\u007f', '\u0084', '\u0086', '\u009f', '\ufeff', '\ufffe', '\uffff']) {
      t.equal(yaml(text), 'not exact: a text has a character that YAML cannot hold')
    }
  },
)

t.test('a name may be so long, and no longer', async t => {
  const name = 'a'.repeat(998)
  t.equal(yaml({ [name]: 1 }), `? ${name}\n: 1\n`)
  t.equal(yaml({ [`${name}a`]: 1 }), 'not exact: a name is too long for YAML')
  t.equal(yaml({ ['a'.repeat(128)]: 1 }), `${'a'.repeat(128)}: 1\n`)
  t.equal(yaml({ ['a'.repeat(129)]: 1 }), `? ${'a'.repeat(129)}\n: 1\n`)
  t.equal(yamlText('{'), 'not exact: value is not JSON, or nested too deep')
})

t.test('lines are folded where libyaml folds them', async t => {
  // Written by libyaml with a width of 80, which go-yaml's emitter is a translation of.
  const file = 'test/codec/output/yaml/folds.json'
  const rows = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly [string, string])[]
  t.ok(rows.length > 100)
  for (const [text, written] of rows) {
    const made = yaml({ name: text })
    // Not as a name of the assertion: these are lines.
    if (made !== written) t.equal(made, written)
  }
})

t.test('what nests deep is written as long as its indentation is bounded', async t => {
  const nested = (items: number): string =>
    `{"a":${'['.repeat(400)}${Array.from({ length: items }, () => '1').join()}${']'.repeat(400)}}`
  t.match(yamlText(nested(200_000)), 'not exact: its YAML is too long')
  t.equal(yamlText(nested(100)).split('\n').length, 102)
})
