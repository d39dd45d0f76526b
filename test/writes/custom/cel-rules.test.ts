/** Rules in CEL (x-kubernetes-validations) on a value, each by itself: what is broken, where, and
 *  with which text. The texts are those of apiextensions-apiserver: schema/cel/validation.go. */

import t from 'tap'

import { RuleNode, runRules } from '../../../lib/writes/custom/cel/run-rules.ts'
import type { Correlated } from '../../../lib/writes/custom/schema-check.ts'
import type { JsonValue } from '../../../lib/go/json/tree.ts'
import { allSteps } from '../../support/steps.ts'
import { treeOf } from '../recorded/load.ts'

interface Broken {
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}

/** The value of before, of whose members those are with the same names. */
function before(old: JsonValue): Correlated {
  const inner = (value: JsonValue | undefined): Correlated | undefined =>
    value === undefined ? undefined : before(value)
  return {
    old,
    member: name => (old instanceof Map ? inner(old.get(name)) : undefined),
    item: () => undefined,
  }
}

function broken(schema: object, now: object, old?: object): Broken {
  const node = RuleNode.of(schema)
  if (node === undefined) throw new Error('no rule')
  const object = treeOf(now)
  const correlated = old === undefined ? undefined : before(treeOf(old))
  const { errors, warnings } = allSteps(runRules(node, object, correlated))
  return { errors: errors.map(({ field, message }) => `${field}: ${message}`), warnings }
}

const errorsOf = (schema: object, now: object, old?: object): readonly string[] =>
  broken(schema, now, old).errors

/** An object with a text `f` that has these rules. */
function ofText(...rules: readonly object[]): object {
  const f = { type: 'string', 'x-kubernetes-validations': rules }
  return { type: 'object', properties: { f } }
}

const never = { rule: "self == 'right'" }

t.test('a rule that is broken has its message, or what it says itself', async t => {
  const rows: readonly (readonly [object, string])[] = [
    [never, `Invalid value: "a": failed rule: self == 'right'`],
    [{ rule: " self == 'right' " }, `Invalid value: "a": failed rule: self == 'right'`],
    [{ ...never, message: ' no ' }, 'Invalid value: "a": no'],
    [{ ...never, message: 'no', messageExpression: "'is ' + self" }, 'Invalid value: "a": is a'],
    [{ ...never, message: 'no', messageExpression: "''" }, 'Invalid value: "a": no'],
    [{ ...never, message: 'no', messageExpression: "' '" }, 'Invalid value: "a": no'],
    [{ ...never, message: 'no', messageExpression: "' x '" }, 'Invalid value: "a": x'],
    [{ ...never, message: 'no', messageExpression: "'x\\ny'" }, 'Invalid value: "a": no'],
    [{ ...never, message: 'no', messageExpression: 'string(1/0)' }, 'Invalid value: "a": no'],
    [{ ...never, reason: 'FieldValueForbidden', message: 'no' }, 'Forbidden: no'],
    [{ ...never, reason: 'FieldValueRequired', message: 'no' }, 'Required value: no'],
    [{ ...never, reason: 'FieldValueDuplicate', message: 'no' }, 'Duplicate value: "a"'],
    [{ ...never, reason: 'FieldValueInvalid', message: 'no' }, 'Invalid value: "a": no'],
  ]
  for (const [rule, text] of rows) {
    t.strictSame(errorsOf(ofText(rule), { f: 'a' }), [`f: ${text}`], JSON.stringify(rule))
  }
  t.strictSame(errorsOf(ofText(never), { f: 'right' }), [])
  t.strictSame(errorsOf(ofText(never), {}), [])
  t.strictSame(errorsOf(ofText(never), { f: null }), [])
})

t.test('a message that is made has at most 5 KiB', async t => {
  const schema = ofText({ ...never, message: 'no', messageExpression: 'self' })
  const long = 'x'.repeat(5 * 1024)
  t.strictSame(errorsOf(schema, { f: long }), [`f: Invalid value: "${long}": ${long}`])
  t.strictSame(errorsOf(schema, { f: `${long}x` }), [`f: Invalid value: "${long}x": no`])
})

t.test(
  'of objects and lists the value is not shown, and the path leads to what is meant',
  async t => {
    const rules = (rule: string, more: object = {}): object => ({
      'x-kubernetes-validations': [{ rule, message: 'no', ...more }],
    })
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            list: {
              type: 'array',
              ...rules('size(self) < 2'),
              items: { type: 'integer', ...rules('self < 5') },
            },
            map: {
              type: 'object',
              additionalProperties: { type: 'string', ...rules("self != 'b'") },
            },
            a: { type: 'integer' },
          },
          ...rules('!has(self.a) || self.a < 3', { fieldPath: '.a' }),
        },
      },
      ...rules('has(self.spec)'),
    }
    t.strictSame(errorsOf(schema, {}), ['<nil>: Invalid value: no'])
    t.strictSame(errorsOf(schema, { spec: { list: [1, 7], map: { x: 'b' }, a: 3 } }), [
      'spec.a: Invalid value: no',
      'spec.list: Invalid value: no',
      'spec.list[1]: Invalid value: 7: no',
      'spec.map[x]: Invalid value: "b": no',
    ])
    const twice = { ...schema, ...rules('false', { reason: 'FieldValueDuplicate' }) }
    t.strictSame(errorsOf(twice, { spec: {} }), ['<nil>: Duplicate value'])
  },
)

t.test('a rule that names oldSelf runs where there was a value, unless it is optional', async t => {
  const kept = { rule: 'self == oldSelf', message: 'is kept' }
  const error = ['f: Invalid value: "b": is kept']
  t.strictSame(errorsOf(ofText(kept), { f: 'b' }), [])
  t.strictSame(errorsOf(ofText(kept), { f: 'b' }, {}), [])
  t.strictSame(errorsOf(ofText(kept), { f: 'b' }, { f: 'b' }), [])
  t.strictSame(errorsOf(ofText(kept), { f: 'b' }, { f: 'a' }), error)
  const optional = { ...kept, rule: 'oldSelf.hasValue() && self == oldSelf.value()' }
  const alsoFirst = { ...optional, optionalOldSelf: true }
  t.strictSame(errorsOf(ofText(alsoFirst), { f: 'b' }), error)
  t.strictSame(errorsOf(ofText(alsoFirst), { f: 'b' }, { f: 'a' }), error)
  t.strictSame(errorsOf(ofText(alsoFirst), { f: 'b' }, { f: 'b' }), [])
})

t.test('what was broken before and has not changed is warned of', async t => {
  const schema = ofText({ ...never, message: 'no' })
  const text = 'f: Invalid value: "a": no'
  t.strictSame(broken(schema, { f: 'a' }, { f: 'a' }), { errors: [], warnings: [text] })
  t.strictSame(broken(schema, { f: 'a' }, { f: 'b' }), { errors: [text], warnings: [] })
  t.strictSame(broken(schema, { f: 'a' }, {}), { errors: [text], warnings: [] })
})

t.test('an error of a rule itself is told with the rule', async t => {
  const rule = 'self / 0 == 1'
  const schema = (more: object = {}): object => ({
    type: 'object',
    properties: { n: { type: 'integer', 'x-kubernetes-validations': [{ rule, ...more }] } },
  })
  t.strictSame(errorsOf(schema(), { n: 1 }), [
    `n: Invalid value: "integer": division by zero evaluating rule: ${rule}`,
  ])
  t.strictSame(errorsOf(schema({ message: ' no ' }), { n: 1 }), [
    'n: Invalid value: "integer": division by zero evaluating rule: no',
  ])
})
