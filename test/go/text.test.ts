import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  goJsonString,
  goParseDuration,
  goParseInt,
  goParseUint,
  goQuote,
} from '../../lib/go/text.ts'
import { anyCharacter } from '../support/kube/any-character.ts'

t.test('quoted texts are those of %q', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['plain', '"plain"'],
    ['"\\', '"\\"\\\\"'],
    ['\x00\x07\b\f\n\r\t\v\x1f\x7f', '"\\x00\\a\\b\\f\\n\\r\\t\\v\\x1f\\x7f"'],
    ['é ü', '"é ü"'],
    ['\u00a0\u2028\u200b', '"\\u00a0\\u2028\\u200b"'],
    ['😀', '"😀"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ]
  for (const [text, quoted] of cases) t.equal(goQuote(text), quoted)
})

t.test('JSON strings escape what encoding/json escapes, and read back as they were', async t => {
  t.equal(goJsonString('<a & b>\u2028'), '"\\u003ca \\u0026 b\\u003e\\u2028"')
  t.equal(goJsonString('\b\f\n\u0001\x7fé'), '"\\b\\f\\n\\u0001\x7fé"')
  t.equal(goJsonString('a\udc00b\ud800'), '"a\ufffdb\ufffd"', 'half a pair is no text')
  t.equal(goJsonString('\\ud800'), '"\\\\ud800"', 'the text of an escape is no escape')
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), text => {
      assert.equal(JSON.parse(goJsonString(text)), text)
    }),
  )
})

t.test('integers are parsed as strconv does, or fail in its words', async t => {
  t.equal(goParseInt('+2').value, 2n)
  t.equal(goParseInt('007').value, 7n)
  t.equal(goParseInt('-9223372036854775808').value, -(2n ** 63n))
  t.equal(
    goParseInt('9223372036854775808').error,
    'strconv.ParseInt: parsing "9223372036854775808": value out of range',
  )
  for (const text of ['', 'x', '1.5', '1e1', '1_0', ' 1', '-', '0x1']) {
    t.equal(goParseInt(text).error, `strconv.ParseInt: parsing "${text}": invalid syntax`)
  }
  t.equal(goParseUint('18446744073709551615').value, 2n ** 64n - 1n)
  t.match(goParseUint('18446744073709551616').error, 'value out of range')
  t.match(goParseUint('-1').error, 'invalid syntax')
  t.match(goParseUint('+5').error, 'invalid syntax')
})

t.test('durations are parsed as package time does, or fail in its words', async t => {
  const cases: readonly (readonly [string, number])[] = [
    ['0', 0],
    ['1h15m30.5s', 4_530_500],
    ['-1s', -1000],
    ['+.5ms', 0.5],
    ['1ns', 1e-6],
    ['2µs', 2e-3],
  ]
  for (const [text, ms] of cases) t.equal(goParseDuration(text), ms, text)
  const failures: readonly (readonly [string, string])[] = [
    ['abc', 'time: invalid duration "abc"'],
    ['', 'time: invalid duration ""'],
    ['.s', 'time: invalid duration ".s"'],
    ['1', 'time: missing unit in duration "1"'],
    ['1x', 'time: unknown unit "x" in duration "1x"'],
    ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
    ['9999999h', 'time: invalid duration "9999999h"'],
    ['1é"', 'time: unknown unit "\\xc3\\xa9\\"" in duration "1\\xc3\\xa9\\""'],
  ]
  for (const [text, error] of failures) t.strictSame(goParseDuration(text), { error }, text)
})
