import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { kubernetesEnvironment } from '../../lib/cel/environment.ts'
import { dynType, intType, listOf, stringType } from '../../lib/cel/types.ts'
import { ArrayList } from '../../lib/cel/values/values.ts'

const environment = kubernetesEnvironment(36, {})
const variables = new Map([
  ['self', dynType],
  ['ints', listOf(intType)],
  ['text', stringType],
])

/** The outcome of a run with a cost limit of Kubernetes, or the problems of the expression. */
function outcomeOf(source: string, inputs: readonly (string | ArrayList | number)[] = []): string {
  const { expression, problems } = environment.compile(source, variables)
  if (expression === undefined) return problems
  const { value, error } = expression.run(inputs, 1_000_000)
  return error ?? (typeof value === 'string' ? value : JSON.stringify(value))
}

const costly = 'operation cancelled: actual cost limit exceeded'
const tooDeep = 'expression recursion limit exceeded: 250'

t.test('an expression nests no deeper than it may, in each way', async t => {
  const nested = (open: string, inner: string, close: string): string =>
    open.repeat(100_000 / (open.length + close.length + 1)) + inner + close.repeat(1)
  for (const source of [
    nested('(', '1', ''),
    nested('[', '1', ''),
    nested('{1:', '1', ''),
    nested('!(', 'true', ''),
    nested('1+(', '1', ''),
    nested('self[', '1', ''),
    nested('true?1:', '1', ''),
    `1${'+1'.repeat(40_000)}`,
    `self${'.a'.repeat(40_000)}`,
    `self${'[0]'.repeat(30_000)}`,
  ]) {
    t.match(outcomeOf(source), tooDeep, source.slice(0, 12))
  }
  let levels = '1'
  for (let i = 0; i < 20; i++) levels = `(${levels}${'+1'.repeat(100)})`
  t.match(outcomeOf(levels), 'max recursion depth exceeded')
  t.match(outcomeOf('!'.repeat(90_000)), 'ERROR')
  t.match(outcomeOf('x'.repeat(100_001)), 'expression code point size exceeds limit: size: 100001')
})

t.test('long chains of && do not nest', async t => {
  t.equal(outcomeOf(Array.from({ length: 5_000 }, () => 'true').join('&&')), 'true')
})

t.test('macros that copy their targets are bounded', async t => {
  t.match(outcomeOf(`optional.of(1)${'.optMap(x, x)'.repeat(40)}`), 'expression is too large')
})

t.test('types that double are refused', async t => {
  let body = '1'
  for (let i = 30; i > 0; i--) body = `optional.of({x${i - 1}: x${i - 1}}).optMap(x${i}, ${body})`
  t.match(outcomeOf(`optional.of(1).optMap(x0, ${body})`), 'a type is too large')
})

t.test('a run stops at its limit', async t => {
  const many = new ArrayList(Array.from({ length: 2_000 }, (_, i) => i))
  for (const source of [
    'ints.all(a, ints.all(b, a + b >= 0))',
    'ints.map(a, ints.map(b, a + b)).size() > 0',
    'lists.range(1000000000).size() > 0',
    'sets.contains(ints.map(a, a + 0), ints)',
    'ints.distinct().size() > 0',
    'ints.sort().size() > 0',
    'ints.exists_one(a, ints.exists(b, a == -1))',
    "ints.map(a, 'x').join('').matches('(x+x+)+y')".replace('ints.map', 'lists.range(80000).map'),
  ]) {
    t.match(outcomeOf(source, [0, many, '']), costly, source)
  }
})

t.test('patterns with many states stop, too', async t => {
  const random = createRandom(1)
  const text = Array.from({ length: 30_000 }, () => (random.next() < 0.5 ? 'a' : 'b')).join('')
  const source = "text.matches('a(a|b){900}c')"
  t.equal(outcomeOf(source, [0, new ArrayList([]), text]), costly)
})

t.test('problems are told, but not all of ten thousand', async t => {
  const problems = outcomeOf(Array.from({ length: 10_000 }, (_, i) => `x${i}`).join('&&'))
  t.match(problems, '9900 more errors were truncated')
})

t.test('numbers are exact to the last bit', async t => {
  t.equal(outcomeOf('9223372036854775806 + 1 == 9223372036854775807'), 'true')
  t.equal(outcomeOf('9007199254740993 * 3 == 27021597764222979'), 'true')
  t.equal(outcomeOf('-9223372036854775808 / -1'), 'integer overflow')
  t.equal(outcomeOf('9223372036854775807 + 1'), 'integer overflow')
  t.equal(outcomeOf('-(-9223372036854775808)'), 'integer overflow')
  t.equal(outcomeOf('18446744073709551615u + 1u'), 'unsigned integer overflow')
  t.equal(outcomeOf('7 % -3 == 1 && -7 % 3 == -1 && -7 / 2 == -3'), 'true')
  t.equal(outcomeOf('string(0 * -1)'), '0')
})

t.test('an error is swallowed where the other side decides', async t => {
  t.equal(outcomeOf('1 / 0 > 1 || true'), 'true')
  t.equal(outcomeOf('1 / 0 > 1 && true'), 'division by zero')
  t.equal(outcomeOf('[0, 1].exists(x, 1 / x == 1)'), 'true')
  t.equal(outcomeOf('[0, 2].exists(x, 1 / x == 1)'), 'division by zero')
})

t.test('patterns find what Go finds', async t => {
  t.equal(outcomeOf("'aaa'.find('a+?')"), 'a')
  t.equal(outcomeOf("'foobar'.find('o|foo|ob')"), 'foo')
  t.equal(outcomeOf("'abab'.findAll('b|ab') == ['ab', 'ab']"), 'true')
  t.equal(outcomeOf("'abc'.findAll('') == ['', '', '', '']"), 'true')
  t.equal(outcomeOf("'a1b22'.findAll('[0-9]*', 2) == ['', '1']"), 'true')
  t.equal(outcomeOf("'line1\\nline2'.find('(?m)^line2$')"), 'line2')
})

t.test('values that are nested deeper than the stack is end the run with an error', async t => {
  let [a, b] = [new ArrayList([1]), new ArrayList([1])]
  for (let i = 0; i < 100_000; i++) [a, b] = [new ArrayList([a]), new ArrayList([b])]
  const { expression } = environment.compile(
    'self == other',
    new Map([
      ['self', dynType],
      ['other', dynType],
    ]),
  )
  const outcome = expression?.run([a, b], 1_000_000)
  t.equal(outcome?.error, 'values or variables are nested too deeply')
})
