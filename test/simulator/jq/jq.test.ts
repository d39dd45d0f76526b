import t from 'tap'
import { Jq } from '../../../lib/simulator/jq/jq.ts'
import { JqProblem } from '../../../lib/simulator/jq/problem.ts'
import type { JqValue } from '../../../lib/simulator/jq/values.ts'

const pod = {
  metadata: { name: 'web', annotations: { 'a.b/c': '5s' }, labels: {} },
  spec: { containers: [{ name: 'one', image: 'i:1' }, { name: 'two' }], replicas: 3 },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Initialized', status: 'False' },
    ],
  },
}

/** Undefined: it fails. */
const rows: readonly (readonly [expression: string, values: readonly JqValue[] | undefined])[] = [
  ['.', [pod]],
  ['.status.phase', ['Running']],
  ['.["status"]["phase"]', ['Running']],
  ['.metadata.annotations["a.b/c"]', ['5s']],
  ['.metadata."name"', ['web']],
  ['.metadata.annotations."a.b/c"', ['5s']],
  ['.metadata.nothing', []],
  ['.metadata.nothing.more', []],
  ['.status.conditions.[] | select( .type == "Ready" ) | .status', ['True']],
  [
    '.status.conditions[] | select(.type == "Ready" or .status == "False") | .type',
    ['Ready', 'Initialized'],
  ],
  ['.status.nothing.[]', undefined],
  ['.status.nothing[]?', []],
  ['.status.phase.[]', undefined],
  ['.spec.containers[0].name, .spec.containers[-1].name', ['one', 'two']],
  ['.spec.containers[1:][0].name', ['two']],
  ['[.spec.containers[].name]', [['one', 'two']]],
  ['.spec.containers | map(.name) | join(",")', ['one,two']],
  ['.spec.containers | length', [2]],
  ['.spec.containers[0] | has("image")', [true]],
  ['any(.spec.containers[].image?; . == "i:1")', undefined],
  ['.spec.containers | any(.image == "i:1")', [true]],
  ['.spec.containers | all(.image == "i:1")', [false]],
  ['.spec.replicas + 1', [4]],
  ['.spec.replicas * 2 - 1', [5]],
  ['.spec.replicas > 2 and .spec.replicas < 4', [true]],
  ['.metadata.nothing // "none"', ['none']],
  ['.metadata.name | test_no_such', undefined],
  [
    'if .spec.replicas > 5 then "many" elif .spec.replicas > 2 then "some" else "few" end',
    ['some'],
  ],
  ['{name: .metadata.name, "n": .spec.replicas}', [{ name: 'web', n: 3 }]],
  ['.metadata | {name}', [{ name: 'web' }]],
  ['.metadata.name | startswith("w") and (endswith("x") | not)', [true]],
  ['.metadata.labels | keys', [[]]],
  ['.metadata.annotations | to_entries[] | .key', ['a.b/c']],
  ['[.status.conditions[].status] | sort | first', ['False']],
  ['.spec | .replicas as', undefined],
  ['1, (2 | . + 1) # a comment', [1, 3]],
  ['"a\\u0041\\n"', ['aA\n']],
  ['null', []],
]

t.test('expressions select and compute as in jq', async t => {
  for (const [expression, values] of rows) {
    let found: readonly JqValue[] | undefined
    try {
      found = new Jq(expression).valuesOf(pod)
    } catch (error) {
      if (!(error instanceof JqProblem)) throw error
    }
    t.same(found, values, expression)
  }
})

t.test('what is not understood is refused when it is read', async t => {
  t.throws(() => new Jq('.a | reduce .[] as $x (0; . + $x)'), { message: /"\$x"|reduce/ })
  t.throws(() => new Jq('.a | nothing(1)'), {
    message: /the function nothing\/1 is not known here/,
  })
  t.throws(() => new Jq('.a |'), { message: /it ends too early/ })
  t.throws(() => new Jq('('.repeat(500)), { message: /nested too deep/ })
})

t.test('an expression that multiplies its values ends', async t => {
  const many = Array.from({ length: 300 }, (_, i) => i)
  t.equal(new Jq('[.[] | [.] + [.]] | length').valuesOf(many)?.[0], 300)
  t.equal(new Jq('.[] as_ | 1'.replace(' as_', '')).valuesOf(many)?.length, 300)
  const doubled = new Jq(`[${Array.from({ length: 200 }, () => '.[]').join(',')}] | length`)
  t.equal(doubled.valuesOf(many), undefined)
  t.equal(new Jq(Array.from({ length: 40 }, () => '. + .').join(' | ')).valuesOf('long'), undefined)
})
