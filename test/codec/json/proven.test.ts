import t from 'tap'
import { provenEnd, scalarEnd } from '../../../lib/codec/json/proven.ts'
import { inputOf } from '../../../lib/go/json/strings.ts'
import { canonicalNumber } from '../../../lib/go/json-number.ts'
import { goJson } from '../../support/kube/go-json.ts'

/** The length of the scalar, in a window between other bytes; -1 if it is none. */
function scalarLength(text: string): number {
  const end = scalarEnd(inputOf(Buffer.from(`1${text}1,`)), 1, 1 + text.length)
  return end < 0 ? -1 : end - 1
}

t.test('a number is proven if Go writes it so', async t => {
  const digits = '123456789012345678901234567890123'
  const numbers = [
    ...'0 -0 00 01 -01 9 -9 10 1.5 1.50 0.5 .5 1. - 1e5 1E5 1e+21 1e21 1e-7 1e-07'.split(' '),
    ...'0.000001 0.0000001 -1.5e-9 1.0 1e0 9223372036854775807 -9223372036854775808'.split(' '),
    ...[14, 15, 16, 17, 18, 31, 32, 33].flatMap(length => {
      const whole = digits.slice(0, length)
      return [whole, `-${whole}`, `0${whole}`, `1.${whole}`]
    }),
  ]
  for (const text of numbers) {
    const isProven = text.length <= 32 && canonicalNumber(text) === text
    t.equal(scalarLength(text), isProven ? text.length : -1, text)
  }
})

t.test('a word is proven if it is one of three, and ends in its window', async t => {
  for (const text of ['true', 'false', 'null']) {
    t.equal(scalarLength(text), text.length, text)
    const longer = Buffer.from(text)
    t.equal(scalarEnd(inputOf(longer), 0, longer.length - 1), -1, text)
  }
  for (const text of ['True', 'nulk', 'nil ', 'falsx', 'z...']) {
    t.equal(scalarLength(text), -1, text)
  }
})

t.test('a text is proven if Go writes it so, with its members in order', async t => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  const proven = (text: string, order: 'sorted' | 'declared'): boolean => {
    const bytes = Buffer.from(text)
    return provenEnd(inputOf(bytes), 0, bytes.length, order) === bytes.length
  }
  const written = (text: string): string | undefined => {
    try {
      return goJson(JSON.parse(text))
    } catch {
      return undefined
    }
  }
  for (const text of [
    '{}',
    '[]',
    '[[],{}]',
    '{"a":1}',
    '{"a":{"b":[1,"x",null,true]},"b":{}}',
    '[{"a":1,"b":2},{"a":[[0]]}]',
    nested(200),
  ]) {
    t.equal(written(text), text)
    for (const order of ['sorted', 'declared'] as const) t.ok(proven(text, order), text)
    // Each changed byte is found, unless Go would write the result, too.
    for (let at = 1; at < Math.min(text.length, 60); at++) {
      for (const byte of ['', ' ', ',', ':', '"', '{', '}', '[', ']', 'x', '0', '\\']) {
        const changed = text.slice(0, at) + byte + text.slice(at + 1)
        const isRight = written(changed) === changed
        if (proven(changed, 'sorted') !== isRight) t.equal(!isRight, isRight, changed)
      }
    }
  }
  t.notOk(proven('{"b":1,"a":2}', 'sorted'))
  t.ok(proven('{"b":1,"a":2}', 'declared'))
  t.notOk(proven('{"a":1,"a":2}', 'sorted'))
  t.notOk(proven(nested(203), 'sorted'))
})
