import t from 'tap'
import { ruleLanguage } from '../../lib/writes/custom/cel/language.ts'

/** The answer of `format.NAME().validate(text)`: the problems as JSON, `valid`, or why there is
 *  none. */
function validated(name: string, text: string): string {
  const source = `format.${name}().validate(${JSON.stringify(text)})`
  const isValid = valueOf(`!${source}.hasValue()`)
  if (isValid !== 'false') return isValid === 'true' ? 'valid' : isValid
  return valueOf(`${source}.value()[0]`)
}

function valueOf(source: string): string {
  const { expression, problem } = ruleLanguage().compile(source, new Map()) as {
    readonly expression?: { run(values: readonly unknown[], cost: number): { value: unknown } }
    readonly problem?: unknown
  }
  if (expression === undefined) return `does not compile: ${String(problem)}`
  return String(expression.run([], 1_000_000).value)
}

/** k8s.io/apiserver/pkg/cel/library/format.go, by name: a right text, a wrong one, its problem. */
const formats: readonly (readonly [name: string, right: string, wrong: string, problem: RegExp])[] =
  [
    ['dns1123Label', 'a-b', 'A', /lowercase RFC 1123 label/],
    ['dns1123Subdomain', 'a.b', 'a..b', /lowercase RFC 1123 subdomain/],
    ['dns1035Label', 'a-b', '1a', /DNS-1035 label/],
    ['qualifiedName', 'a/b', 'a b', /name part must consist of/],
    ['dns1123LabelPrefix', 'a-', 'Ab-', /lowercase RFC 1123 label/],
    ['dns1123SubdomainPrefix', 'a.b-', '.b-', /lowercase RFC 1123 subdomain/],
    ['dns1035LabelPrefix', 'a-', '1b-', /DNS-1035 label/],
    ['labelValue', 'a', '-a', /a valid label must be/],
    ['uri', 'http://a/b', 'a', /invalid URI for request/],
    ['uuid', 'f47ac10b-58cc-0372-0567-0e02b2c3d479', 'f47', /does not match the UUID format/],
    ['byte', 'YWI=', 'YWI', /invalid base64/],
    ['date', '2024-02-29', '2023-02-29', /invalid date/],
    ['datetime', '2024-02-29T00:00:00Z', '2024-02-30T00:00:00Z', /invalid datetime/],
  ]

t.test('formats of texts say what is wrong', async t => {
  for (const [name, right, wrong, problem] of formats) {
    t.equal(validated(name, right), 'valid', name)
    t.match(validated(name, wrong), problem, name)
  }
})

t.test('formats are found by their names', async t => {
  for (const [name] of formats) {
    t.equal(valueOf(`format.named('${name}').hasValue()`), 'true', name)
  }
  t.equal(valueOf(`format.named('nothing').hasValue()`), 'false')
})
