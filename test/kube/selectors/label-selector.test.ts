import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  type LabelRequirement,
  parseLabelSelector,
} from '../../../lib/kube/selectors/label-selector.ts'
import { refusalOf } from '../../support/kube/kube-builders.ts'

type Labels = Readonly<Record<string, string>>

function selects(selector: string, labels: Labels): boolean {
  const own = (key: string): string | undefined =>
    Object.hasOwn(labels, key) ? labels[key] : undefined
  return parseLabelSelector(selector, schemaOf()).matches(own)
}

t.test('requirements are met as package labels has it', async t => {
  const labels = { app: 'web', n: '5', empty: '' }
  const cases: readonly (readonly [string, boolean])[] = [
    ['', true],
    ['app=web', true],
    ['app==web,n=5', true],
    ['app!=web', false],
    ['none!=web', true],
    ['app in (web,api)', true],
    ['app notin (web)', false],
    ['none notin (web)', true],
    ['app', true],
    ['!app', false],
    ['none', false],
    ['empty=', true],
    ['empty in (,x)', true],
    ['none=', false],
    ['n>4', true],
    ['n>5', false],
    ['n<6,n>4', true],
    ['app>1', false],
    ['none<1', false],
    [' app\t=\nweb ', true],
    ['in', false],
    ['notin notin (in,notin)', true],
    ['constructor', false],
  ]
  for (const [selector, expected] of cases) t.equal(selects(selector, labels), expected, selector)
})

t.test('what is no selector is refused in the words of package labels', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a=)', "unable to parse requirement: found ')', expected: identifier"],
    ['(', "found '(', expected: !, identifier, or 'end of string'"],
    ['a,!', "unable to parse requirement: found '', expected: identifier"],
    ['a,=', "found '=', expected: identifier after ','"],
    ['a!', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ['a\0b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    [
      'n>-x',
      "unable to parse requirement: [values[0]: Invalid value: \"-x\": for 'Gt', 'Lt' operators, the value must be an integer, " +
        'values[0][n]: Invalid value: "-x": a valid label must be an empty string or consist of alphanumeric characters, ' +
        "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
        "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
    ],
    [
      'A_B/c=1',
      'unable to parse requirement: <nil>: Invalid value: "A_B/c": prefix part a lowercase RFC 1123 subdomain must consist of ' +
        "lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
        "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ]
  for (const [selector, message] of cases) {
    t.strictSame(
      refusalOf(() => parseLabelSelector(selector, schemaOf())),
      { code: 400, message, reason: 'BadRequest' },
      selector,
    )
  }
})

t.test('a selector written from requirements selects what they say', async t => {
  const name = fc.constantFrom('a', 'b', 'example.com/c')
  const value = fc.constantFrom('x', 'y', '', '7', '12')
  const requirement = fc.record({
    key: name,
    operator: fc.constantFrom('in', 'notin', 'exists', 'absent') as fc.Arbitrary<
      LabelRequirement['operator']
    >,
    values: fc.uniqueArray(value, { minLength: 1 }),
  })
  const labels = fc.dictionary(name, value, { noNullPrototype: true })
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 4 }), labels, (requirements, object) => {
      const text = requirements.map(written).join(',')
      const expected = requirements.every(({ key, operator, values }) => {
        const found = Object.hasOwn(object, key) ? object[key] : undefined
        if (operator === 'exists') return found !== undefined
        if (operator === 'absent') return found === undefined
        const isIn = found !== undefined && values.includes(found)
        return operator === 'in' ? isIn : !isIn
      })
      assert.equal(selects(text, object), expected, text)
    }),
    { numRuns: 3000 },
  )
  t.pass('no difference')
})

function written({
  key,
  operator,
  values,
}: {
  key: string
  operator: string
  values: string[]
}): string {
  if (operator === 'exists') return key
  if (operator === 'absent') return `!${key}`
  if (values.length === 1) return `${key}${operator === 'in' ? '=' : '!='}${values[0]}`
  return `${key} ${operator} (${values.join(',')})`
}
