/** The order of values in sets of fields, and which of them are equal (structured-merge-diff:
 *  value/value.go, value/equals.go). */

import t from 'tap'
import { areEqual, compareValues, valueText } from '../../../lib/writes/ownership/sets/values.ts'
import { type JsonValue, parseTree } from '../../../lib/go/json/tree.ts'

function valueOf(json: string): JsonValue {
  const bytes = Buffer.from(json)
  const value = parseTree(bytes, 0, bytes.length)
  if (value === undefined) throw new Error(json)
  return value
}

/** Each is below the next one. */
const inOrder = [
  '-1.5',
  '-1',
  '0',
  '1',
  '1.5',
  '9007199254740992',
  '9007199254740993',
  '1e300',
  '""',
  '"a"',
  '"b"',
  'false',
  'true',
  '[]',
  '[1]',
  '[1,1]',
  '[2]',
  '["a"]',
  '{}',
  '{"a":1}',
  '{"a":1,"b":1}',
  '{"a":2}',
  '{"b":0}',
  'null',
]

t.test('values of any kinds have one order', async t => {
  for (const [i, a] of inOrder.entries()) {
    for (const [j, b] of inOrder.entries()) {
      const [left, right] = [valueOf(a), valueOf(b)]
      t.equal(Math.sign(compareValues(left, right)), Math.sign(i - j), `${a} and ${b}`)
      t.equal(areEqual(left, right), i === j, `${a} and ${b}`)
    }
  }
  t.equal(compareValues(valueOf('{"b":1,"a":2}'), valueOf('{"a":2,"b":1}')), 0)
  t.equal(areEqual(valueOf('1'), valueOf('1.0')), true)
  t.equal(areEqual(valueOf('{"a":1}'), valueOf('{"b":1}')), false)
})

t.test('a value is shown as Go shows it', async t => {
  const rows = [
    ['"a\\"b"', '"a\\"b"'],
    ['1', '1'],
    ['true', 'true'],
    ['null', 'null'],
    ['[1,"a"]', '[1,"a"]'],
    ['{"a":1}', 'a=1'],
  ] as const
  for (const [json, text] of rows) t.equal(valueText(valueOf(json)), text)
})
