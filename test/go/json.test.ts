import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { GoJsonError, parseGoJson } from '../../lib/go/json.ts'

function errorOf(text: string): string {
  try {
    parseGoJson(Buffer.from(text))
    return 'none'
  } catch (error) {
    if (!(error instanceof GoJsonError)) throw error
    return error.message
  }
}

t.test('a text is refused in the words of encoding/json', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['tru', "invalid character ' ' in literal true (expecting 'e')"],
    ['[1.', "invalid character ' ' after decimal point in numeric literal"],
    ['"a', 'unexpected end of JSON input'],
    ['hello', "invalid character 'h' looking for beginning of value"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['{a', "invalid character 'a' looking for beginning of object key string"],
    ['{"a"1', "invalid character '1' after object key"],
    ['{"a":1 "', `invalid character '"' after object key:value pair`],
    ['[1 2', "invalid character '2' after array element"],
    ['"\n"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1ex', "invalid character 'x' in exponent of numeric literal"],
    ['trx', "invalid character 'x' in literal true (expecting 'u')"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ["'", "invalid character '\\'' looking for beginning of value"],
    ['01', "invalid character '1' after top-level value"],
    ['['.repeat(10_001), 'exceeded max depth'],
  ]
  for (const [text, message] of cases) t.equal(errorOf(text), message, text.slice(0, 20))
})

t.test('exactly the texts that JSON.parse takes are taken', async t => {
  const mutated = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', '\\', '{', '1', ',', ' ', '\u0001'))
    .map(([text, at, insert]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + insert + text.slice(place + (at % 2))
    })
  fc.assert(
    fc.property(mutated, text => {
      let isValid = true
      try {
        JSON.parse(text)
      } catch {
        isValid = false
      }
      assert.equal(errorOf(text) === 'none', isValid, text)
    }),
    { numRuns: 3000 },
  )
  t.pass('no difference')
})

t.test('members keep their order and their texts', async t => {
  t.strictSame(parseGoJson(Buffer.from('{"b":1.50,"a":"\\u00e9é","b":null}')), {
    kind: 'object',
    members: [
      ['b', { kind: 'number', text: '1.50' }],
      ['a', { kind: 'string', text: 'éé' }],
      ['b', { kind: 'null' }],
    ],
  })
})
