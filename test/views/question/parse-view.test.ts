import t from 'tap'
import { refusalOf } from '../../support/kube/kube-builders.ts'
import { questionOf } from '../../support/views/view-world.ts'

const mistakes: readonly (readonly [query: Record<string, string>, message: string])[] = [
  [{ were: 'a=b' }, 'unknown parameter "were"'],
  [{ where: 'restarts>' }, 'where, column 10: expected a value after ">"'],
  [{ where: 'restarts>many' }, 'where, column 10: expected a number, got "many"'],
  [{ where: 'age<soon' }, 'where, column 5: expected a duration such as 1h30m, got "soon"'],
  [
    { where: 'restrats>5' },
    'where, column 1: unknown column "restrats", known are namespace, name',
  ],
  [{ where: 'status' }, 'where, column 7: expected an operator after "status"'],
  [{ where: 'status=a b' }, 'where, column 10: expected "and", "or" or the end, got "b"'],
  [{ where: '(status=a' }, 'where, column 10: expected ")"'],
  [{ where: 'status="a' }, 'where, column 8: the quoted text does not end'],
  [{ where: 'status in a' }, 'where, column 11: expected "(", got "a"'],
  [{ where: 'status & ready' }, 'where, column 8: expected an operator after "status", got "&"'],
  [{ where: '!'.repeat(17) + 'status=a' }, 'where, column 17: nested deeper than 16'],
  [{ where: 'a=b'.padEnd(4097) }, 'where: longer than 4096 characters'],
  [
    { where: Array(65).fill('status=a').join(' or ') },
    'where, column 769: more than 64 comparisons',
  ],
  [{ where: `status in (${Array(65).fill('a').join()})` }, 'more than 64 comparisons'],
  [{ sort: 'foo' }, 'sort: unknown column "foo"'],
  [{ sort: 'name,name,name,name,name,name,name,name,name' }, 'sort: more than 8 columns'],
  [{ columns: 'foo' }, 'columns: unknown column "foo"'],
  [{ columns: ':.spec' }, 'columns: ":.spec" has no title before the colon'],
  [{ columns: 'a:size:.spec' }, 'columns: unknown kind "size" in "a:size:.spec"'],
  [{ columns: 'a:spec' }, 'columns: expected a JSONPath that begins with a dot in "a:spec"'],
  [{ columns: 'a:.spec[' }, 'columns: ".spec[": unterminated array'],
  [{ columns: 'name:.spec' }, 'columns: there is a column "name" already'],
  [
    { columns: Array.from({ length: 17 }, (_, i) => `a${i}:.spec`).join() },
    'columns: more than 16 JSONPaths',
  ],
  [{ include: 'all' }, 'include: expected none, metadata or object, got "all"'],
  [{ pageSize: '1001' }, 'pageSize: expected a number from 1 to 1000, got "1001"'],
  [{ page: '0' }, 'page: expected a number from 1 to 100000000, got "0"'],
  [{ after: 'no token!' }, 'after: not a token of a row'],
  [{ after: 'YQ', page: '2' }, 'after and page exclude each other'],
  [{ countBy: 'status', sort: 'name' }, 'countBy and sort exclude each other'],
  [{ countBy: 'name,status,node,ip' }, 'countBy: more than 3 columns'],
  [{ revision: '-1' }, 'revision: expected a number, got "-1"'],
  [{ revision: '7', watch: '1' }, 'watch and revision exclude each other'],
  [{ watch: '1', countBy: 'status', where: 'age<1h' }, 'live counts cannot be filtered by an age'],
  [{ labelSelector: 'a=b=c' }, "found '=', expected: ',' or 'end of string'"],
]

t.test('a mistake is refused with its place', async t => {
  for (const [query, message] of mistakes) {
    const refusal = refusalOf(() => questionOf(query))
    t.equal(refusal?.code, 400, JSON.stringify(query))
    t.match(refusal?.message, message)
  }
})

t.test(
  'columns are those that kubectl shows, and the namespace where all are asked for',
  async t => {
    const idsOf = (columns: string, namespace = ''): string[] =>
      questionOf(columns === '' ? {} : { columns }, namespace).columns.map(({ id }) => id)
    t.same(idsOf(''), ['namespace', 'name', 'ready', 'status', 'restarts', 'age'])
    t.same(idsOf('', 'one'), ['name', 'ready', 'status', 'restarts', 'age'])
    t.same(idsOf('Name,labels.app.kubernetes.io/name,nominated-node'), [
      'name',
      'labels.app.kubernetes.io/name',
      'nominated-node',
    ])
    t.same(idsOf('wide,name', 'one').at(-1), 'readiness-gates')
    t.same(idsOf('image:.spec.containers[0,1].image,annotations.a.b/c'), [
      'image',
      'annotations.a.b/c',
    ])
  },
)

t.test('columns have the kinds of what is in them', async t => {
  const { columns } = questionOf({ columns: 'wide,cpu:quantity:{.spec.a}' })
  const kinds = Object.fromEntries(columns.map(({ id, kind }) => [id, kind]))
  t.match(kinds, { name: 'text', restarts: 'number', age: 'time', node: 'text', cpu: 'quantity' })
})

t.test('a question says how fresh its contents are to be', async t => {
  t.same(questionOf({}).plan.freshness, { type: 'consistent' })
  t.same(questionOf({ revision: '0' }).plan.freshness, { type: 'any' })
  t.same(questionOf({ revision: '7' }).plan.freshness, { type: 'exact', revision: 7 })
})

t.test('blanks around a condition are no part of it', async t => {
  t.same(questionOf({ where: ' restarts > 5 \n' }).where, questionOf({ where: 'restarts>5' }).where)
})
