import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { kubernetesEnvironment } from '../../lib/cel/environment.ts'
import { freeValue } from '../../lib/cel/schema/data.ts'
import { dynType, intType, listOf } from '../../lib/cel/types.ts'
import { ArrayList } from '../../lib/cel/values/values.ts'
import { parseTree } from '../../lib/go/json/tree.ts'
import { type SpecSuite, tests } from './spec.ts'

/** Expressions of libraries that cel-spec does not have. */
const more = [
  "isURL(self.s) && url('http://a:1/b?c=d').getQuery().size() == 1",
  "cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))",
  "quantity('1Gi').add(1).isInteger()",
  "semver('1.2.3').major() + l.sum()",
  'self.l.sortBy(x, -x)',
  'self.m.transformMap(k, v, v)',
  'self.?a.b.orValue(3)',
  "'%s %d %.3f %e %x'.format([1, 2, 3.0, 4.0, 5])",
  "self.s.find('a(b|c)*')",
  "timestamp('2024-01-01T00:00:00Z').getHours('Europe/Berlin')",
  'sets.intersects(self.l, [1]) || [1, [2]].flatten(2) == self.l.slice(0, 1)',
  "format.named('uri').value().validate('x')",
]

function expressionsOf(suite: SpecSuite): string[] {
  const own = (suite.tests ?? []).map(({ original }) => original.expr)
  return [...own, ...(suite.suites ?? []).flatMap(expressionsOf)]
}

t.test('expressions made of pieces of others give a value or an error, and never fail', async t => {
  const random = createRandom(40)
  const below = (max: number): number => Math.floor(random.next() * max)
  const all = [...expressionsOf(tests), ...more]
  const environment = kubernetesEnvironment(36, { uri: () => [] })
  const variables = new Map([
    ['self', dynType],
    ['l', listOf(intType)],
  ])
  const json = Buffer.from(
    '{"a":1,"s":"é😀","l":[3,1.5,"x",null,[1]],"m":{"k":{"z":1}},"n":null,"big":9223372036854775807}',
  )
  const self = freeValue(parseTree(json, 0, json.length) ?? null)
  const other = (): string => all[below(all.length)] ?? ''
  const values = ['self.a', 'self.n', 'self.big', 'self.l', 'self.m', 'dyn(1)', '-1', '1.0', '2u']
  let compiled = 0
  for (let i = 0; i < 4_000; i++) {
    let source = other()
    for (let changes = below(4); changes > 0; changes--) {
      const [piece, at] = [other(), below(source.length + 1)]
      const from = below(piece.length + 1)
      const put = below(2) === 0 ? `(${piece})` : piece.slice(from, from + below(12))
      source = source.slice(0, at) + put + source.slice(at + below(8))
    }
    if (below(3) === 0) source = source.replace(/\b\d+\b/, () => values[below(values.length)] ?? '')
    const { expression } = environment.compile(source, variables)
    if (expression === undefined) continue
    compiled++
    expression.estimate(() => undefined)
    expression.run([self, new ArrayList([1, 2])], 100_000)
  }
  t.ok(compiled > 400, `${compiled} of 4000 compile`)
})
