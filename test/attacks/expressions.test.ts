/** Expressions whose cost, as Kubernetes counts it, says little about how long they take: `size()`
 *  of a megabyte costs 1. Whoever may write a definition, a policy or a condition may write
 *  them. */

import t from 'tap'
import { goParseInt, goParseUint } from '../../lib/go/text.ts'
import { kubernetesEnvironment } from '../../lib/cel/environment.ts'
import { freeValue } from '../../lib/cel/schema/data.ts'
import { dynType } from '../../lib/cel/types.ts'
import { runWorkMax } from '../../lib/cel/values/work.ts'
import { RuleNode, runRules } from '../../lib/writes/custom/cel/run-rules.ts'
import type { Correlated } from '../../lib/writes/custom/schema-check.ts'
import { atOnce } from '../../lib/base/slice.ts'
import { JsonNumber, type JsonValue, parseTree } from '../../lib/go/json/tree.ts'

const environment = kubernetesEnvironment(36, {})
const variables = new Map([['self', dynType]])
const json = Buffer.from(
  JSON.stringify({
    s: 'x'.repeat(1_400_000),
    u: 'é😀'.repeat(100_000),
    l: Array.from({ length: 150_000 }, (_, i) => i),
    m: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, i])),
    nest: Array.from({ length: 200 }, () => Array.from({ length: 500 }, (_, i) => i)),
    spaces: ' '.repeat(100_000),
    time: '2024-01-01T00:00:00Z',
  }),
)
const self = freeValue(parseTree(json, 0, json.length) ?? null)

const costly = 'operation cancelled: actual cost limit exceeded'

/** A loop that asks something of the object often. */
const often = (test: string): string => `lists.range(300).all(i, ${test})`

t.test('a run that costs little and takes long stops', async t => {
  for (const source of [
    often('self.s.size() > 0'),
    often("self.u.charAt(1) != 'q'"),
    often('(self.l + self.l).size() > 0'),
    often('self.m == self.m'),
    often('self.m.exists(k, true)'),
    often('self.l.slice(0, 1).size() > 0'),
    often("'%s'.format([self.l]) != ''"),
    often("'%x'.format([self.s]) != ''"),
    often('bytes(self.s).size() > 0'),
    often("self.s < self.s + 'y'"),
    often('!isURL(self.s)'),
    often("self.u.indexOf('y') < 0"),
    often("'a'.matches(self.s) || true"),
    'self.nest.all(a, self.nest.all(b, a == b))',
    "self.s.indexOf('y' + self.s.substring(0, 100000)) < 0",
    "self.s.split('y' + self.s.substring(0, 100000)).size() == 1",
    "lists.range(20000).all(i, timestamp(self.time).getHours('Europe/Berlin') >= 0)",
    'isIP(self.s) || isCIDR(self.s)',
    "lists.range(20000).all(i, '%.1000f'.format([1e300]) != '')",
  ]) {
    const { expression, problems } = environment.compile(source, variables)
    t.equal(problems, undefined, source)
    const outcome = expression?.run([self], 1_000_000)
    t.equal(outcome?.error, costly, source)
    t.ok((outcome?.work ?? 0) <= runWorkMax, source)
  }
})

t.test('what is compared with itself is not looked at', async t => {
  for (const source of [often('[self.l] == [self.l]'), often('[self.l] in [[self.l]]')]) {
    const outcome = environment.compile(source, variables).expression?.run([self], 1_000_000)
    t.match(outcome, { value: true, error: undefined }, source)
    t.ok((outcome?.work ?? Infinity) < 1000, `${source}: ${outcome?.work}`)
  }
})

t.test('texts that no memory holds are refused before they are made', async t => {
  let doubled = 'self.s'
  for (let i = 0; i < 14; i++) doubled = `[${doubled}].map(x${i}, x${i} + x${i})[0]`
  for (const source of [
    "self.s.replace('', self.s) != ''",
    "self.s.replace('x', self.s, 100000) != ''",
    "lists.range(1000).map(x, '').join(self.s) != ''",
    `${doubled} != ''`,
  ]) {
    const { expression } = environment.compile(source, variables)
    t.equal(expression?.run([self], 1_000_000).error, costly, source)
  }
})

t.test('what is ordinary runs as before', async t => {
  for (const source of [
    "self.s.size() == 1400000 && self.s.startsWith('xx') && !self.s.contains('y')",
    'self.l.all(x, x >= 0) && self.l.size() == 150000',
    'self.m.all(k, self.m[k] >= 0)',
    "self.m == self.m && self.s == self.s && self.u.replace('é', 'e').size() == 200000",
    "'abc'.replace('', '-') == '-a-b-c-' && 'abc'.replace('', '-', 2) == '-a-bc'",
    "'abab'.replace('a', 'x', 1) == 'xbab' && ''.replace('', 'y') == 'y'",
    "'abc'.split('') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
    'self.spaces.trim().size() == 0',
  ]) {
    const { expression } = environment.compile(source, variables)
    t.same(expression?.run([self], 1_000_000).value, true, source)
  }
})

t.test('the rules of an object have a bound of work together', async t => {
  const rules = Array.from({ length: 40 }, () => ({
    rule: 'lists.range(60).all(i, size(self) > 0)',
  }))
  const node = RuleNode.of({ type: 'string', 'x-kubernetes-validations': rules }) as RuleNode
  const steps = runRules(node, 'x'.repeat(1_000_000), undefined)
  let count = 0
  let result = steps.next()
  for (; result.done !== true; result = steps.next()) count++
  t.match(
    result.value.errors.map(({ message }) => message),
    [/running out of cost budget/],
  )
  t.ok(count >= 5, `${count} steps`)
})

/** Counts how often it is walked through. */
class Counted extends Array<JsonValue> {
  walks = 0

  override [Symbol.iterator](): ArrayIterator<JsonValue> {
    this.walks++
    return super[Symbol.iterator]()
  }
}

t.test(
  'a list is compared with what it was once, and not for each item that breaks a rule',
  async t => {
    const items = { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self < 0' }] }
    const node = RuleNode.of({ type: 'array', items }) as RuleNode
    const list = new Counted()
    for (let i = 0; i < 2_000; i++) list.push(new JsonNumber(String(i)))
    const correlated = { old: [null], member: () => undefined, item: () => undefined }
    const { errors } = atOnce(runRules(node, list, correlated))
    t.equal(errors.length, 2_000)
    t.ok(list.walks <= 2, `${list.walks} times`)
  },
)

t.test(
  'a number of a million digits is out of range, and small ones may begin with zeros',
  async t => {
    const digits = '9'.repeat(1_000_000)
    t.match(goParseInt(digits).error, 'value out of range')
    t.match(goParseUint(digits).error, 'value out of range')
    t.match(goParseInt(`-${digits}`).error, 'value out of range')
    t.same(goParseInt(`${'0'.repeat(100_000)}12`), { value: 12n })
    t.same(goParseInt(`-${'0'.repeat(100)}`), { value: 0n })
    t.same(goParseInt('-9223372036854775808'), { value: -(2n ** 63n) })
  },
)

/** A list of numbers with rules for each of them. */
function ruled(rule: string, rules: number, items: number): [RuleNode, JsonValue] {
  const given = Array.from({ length: rules }, () => ({ rule }))
  const one = { type: 'integer', 'x-kubernetes-validations': given }
  const node = RuleNode.of({ type: 'array', items: one })
  if (node === undefined) throw new Error('no rule')
  return [node, Array.from({ length: items }, (_, i) => new JsonNumber(String(i)))]
}

t.test('rules that cost nothing run as often as others', async t => {
  const { errors } = atOnce(runRules(...ruled('true', 500, 25_000), undefined))
  t.equal(errors.length, 1)
  t.match(errors[0]?.message, /running out of cost budget/)
})

t.test('errors of rules are counted', async t => {
  const run = (): unknown => atOnce(runRules(...ruled('false', 500, 10_000), undefined))
  t.throws(run, { status: { code: 413 }, message: /the errors of the object are too long/ })
})

t.test('comparing values that lie in each other with those of before is counted', async t => {
  let schema: object = { type: 'string' }
  let value: JsonValue = 'x'.repeat(1_000_000)
  for (let i = 0; i < 100; i++) {
    const rules = { 'x-kubernetes-validations': [{ rule: 'false' }] }
    schema = { type: 'object', properties: { a: schema }, ...rules }
    value = new Map([['a', value]])
  }
  const node = RuleNode.of(schema)
  if (node === undefined) throw new Error('no rule')
  const correlated = (old: JsonValue): Correlated => ({
    old,
    member: name => (old instanceof Map ? correlated(old.get(name) ?? null) : undefined),
    item: () => undefined,
  })
  const { errors, warnings } = atOnce(runRules(node, value, correlated(value)))
  t.match(errors.at(-1)?.message, /running out of cost budget/)
  t.ok(warnings.length < 100)
})
