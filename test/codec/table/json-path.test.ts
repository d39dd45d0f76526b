import t from 'tap'
import { type JsonValue, parseTree, textFromTree } from '../../../lib/go/json/tree.ts'
import { parseJsonPath } from '../../../lib/codec/table/json-path.ts'
import { evaluateJsonPath } from '../../../lib/codec/table/json-path-values.ts'
import { GiveUp } from '../../../lib/base/not-exact.ts'
import { RowBudget } from '../../../lib/codec/table/row-budget.ts'

const example: JsonValue = treeOf({
  list: ['a', 'b', 'c'],
  none: null,
  text: 'x',
  number: 2,
  isOn: true,
  many: [Array.from({ length: 1_000 }, () => [])],
  items: [
    { name: 'one', size: 1, isOn: true },
    { name: 'two', size: 2, isOn: false },
    { name: 'three', size: 3 },
  ],
})

/** The values as JSON, or the word for what upstream shows as an empty cell. */
function valuesAt(path: string): string {
  const actions = parseJsonPath(`{${path}}`)
  if (typeof actions === 'string') return actions
  const found = evaluateJsonPath(actions, [example], new RowBudget(0))
  const texts = found?.map(one => (typeof one === 'bigint' ? `${one}n` : textFromTree(one)))
  return texts === undefined ? 'fails' : `[${texts.join(',')}]`
}

function treeOf(value: unknown): JsonValue {
  const bytes = Buffer.from(JSON.stringify(value))
  return parseTree(bytes, 0, bytes.length) as JsonValue
}

/** As client-go's util/jsonpath evaluates them: evalArray, evalFilter, evalUnion. */
const rows: readonly (readonly [path: string, values: string])[] = [
  ['.text', '["x"]'],
  ...(
    [
      ['name', '"one"', '==', '"one"'],
      ['name', '"three"', '>', '"one"', '"three","two"'],
      ['name', '"three"', '>=', '"three"', '"two","three"'],
      ['name', '"one"', '<', '"three"', '"one"'],
      ['name', '"one"', '<=', '"three"', '"one","three"'],
      ['name', '"one"', '!=', '"one"', '"two","three"'],
      ['size', '2', '<', '2', '"one"'],
      ['size', '2', '<=', '2', '"one","two"'],
      ['size', '2', '>', '2', '"three"'],
      ['size', '2', '>=', '2', '"two","three"'],
      ['size', '2', '!=', '2', '"one","three"'],
      ['isOn', 'true', '==', 'true', '"one"'],
      ['isOn', 'true', '!=', 'true', '"two"'],
    ] as const
  ).map(([name, , operator, right, found]) => {
    const names = (found ?? right).split(',')
    const inOrder = ['"one"', '"two"', '"three"'].filter(one => names.includes(one))
    return [`.items[?(@.${name}${operator}${right})].name`, `[${inOrder.join(',')}]`] as const
  }),
  ['$.text', '["x"]'],
  ['.nothing', '[]'],
  ['.text.deeper', '[]'],
  ['.list[0]', '["a"]'],
  ['.list[2]', '["c"]'],
  // An index out of bounds is an error.
  ['.list[3]', 'fails'],
  ['.list[-1]', '["c"]'],
  ['.list[-3]', '["a"]'],
  ['.list[-4]', 'fails'],
  ['.list[*]', '["a","b","c"]'],
  ['.list[:]', '["a","b","c"]'],
  ['.list[1:]', '["b","c"]'],
  ['.list[:2]', '["a","b"]'],
  ['.list[0:3]', '["a","b","c"]'],
  ['.list[0:4]', 'fails'],
  ['.list[1:-1]', '["b"]'],
  // No element, and no error.
  ['.list[1:1]', '[]'],
  ['.list[3:3]', '[]'],
  ['.list[0:0]', '[]'],
  ['.list[2:1]', 'fails'],
  ['.list[0:3:2]', '["a","c"]'],
  ['.list[1:3:2]', '["b"]'],
  ['.list[::2]', '["a","c"]'],
  ['.list[0:3:0]', 'fails'],
  ['.list[0:3:-1]', 'fails'],
  ['.list[0,2]', '["a","c"]'],
  ['.list[0,3]', 'fails'],
  // A null is an empty list; another value is none.
  ['.none[0]', '[]'],
  ['.text[0]', 'fails'],
  [".items[0]['name']", '["one"]'],
  ['.items[*].name', '["one","two","three"]'],
  ['.items[?(@.isOn)].name', '["one","two"]'],
  ['.items[?(@.isOn==true)].name', '["one"]'],
  ['.items[?(@.isOn!=true)].name', '["two"]'],
  ['.items[?(@.name=="two")].size', '[2]'],
  [".items[?(@.name=='two')].size", '[2]'],
  ['.items[?(@.name!="two")].size', '[1,3]'],
  ['.items[?(@.size<2)].size', '[1]'],
  ['.items[?(@.size<=2)].size', '[1,2]'],
  ['.items[?(@.size>2)].size', '[3]'],
  ['.items[?(@.size>=2)].size', '[2,3]'],
  ['.items[?(@.name<"three")].name', '["one"]'],
  ['.items[?(@.name<="three")].name', '["one","three"]'],
  // What is of another kind cannot be compared.
  ['.items[?(@.name==1)].name', 'fails'],
  ['.items[?(@.name!=1)].name', 'fails'],
  ['.items[?(@.isOn<true)].name', 'fails'],
  ['.items[?(@.isOn<"x")].name', 'fails'],
  ['.items[?(@.isOn!="true")].name', 'fails'],
  ['.items[?(@.size<2.0)].name', 'fails'],
  ['.items[?(@.size=2)]', 'fails'],
  ['.items[?(@.size==x)]', 'fails'],
  ['.items[?(@.none==x)]', '[]'],
  ['.items[?(@.size==@.size)].size', '[1,2,3]'],
  ['.items[?(@.*==1)].size', 'fails'],
  ['.items[?(1==@.size)].size', '[1]'],
  ['.items[?(@.size == 2 )].size', '[2]'],
  ['.list[?(@<"b")]', '["a"]'],
  ['.list[?()]', '["a","b","c"]'],
  // A search that fails may leave something behind, which exists.
  ['.items[?(@.name[0])].size', '[1,2,3]'],
  ['.items[?(@.name.x[0])].size', '[]'],
  ['.text[?(@.a)]', 'fails'],
  ['.none[?(@.a)]', 'fails'],
  ['.list[a]', 'invalid array index a'],
  ['.', '[]'],
  ['.text.', '[]'],
  ['.items.name', '[]'],
  ['.list.*', '["a","b","c"]'],
  ['.text.*', '[120n]'],
  ['.number.*', '[]'],
  ['.items..name', '["one","two","three"]'],
  ['.list..', '[["a","b","c"],"a","b","c"]'],
  ['.list....', 'invalid multiple recursive descent'],
  ['.list[0:2][0]', 'fails'],
  ['.list[0,1]', '["a","b"]'],
  // An empty slice leaves out what comes after it.
  ['..[0:0]', 'fails'],
  [".items[0]['name','size']", '["one",1]'],
  [".items['name']", '[]'],
  ['.list[]', '["a"]'],
  ['.list[9223372036854775807]', 'fails'],
  ['.list "x"', '["x"]'],
  ['.nothing "x\\x41\\u00e9"', '["xAé"]'],
  ['.list 5', '[5n]'],
  ['.nothing 5', '[]'],
  ['.items[*] 1.5', '[1.5,1.5,1.5]'],
  ['.list true', '[true]'],
  ['.list word', 'fails'],
  ['.list range', 'fails'],
  ['.list}{.text', '[["a","b","c"]]'],
  ['.list}{.text[0]', 'fails'],
]

t.test('paths have the values that columns of custom resources show', async t => {
  for (const [path, values] of rows) t.equal(valuesAt(path), values, path)
})

t.test('a path that multiplies values ends with the budget of its row', async t => {
  const same = `[${'0,'.repeat(2_000)}0]`
  for (const path of [
    `.list${'[0,0]'.repeat(30)}`,
    `.many${same}${same}[0]`,
    `.many${same}[${"'x',".repeat(2_000)}'x']`,
    `.many${same}[?(@.a)]`,
    `.many${same}[?(@[0])]`,
    `.many${same}${'[?()]'.repeat(5)}`,
    `.many${same}..`,
    `.many${same}[*]`,
  ]) {
    const problem = problemAt(path)
    // An index of what is no list fails before that.
    if (path.startsWith('.list')) t.equal(problem, undefined, path)
    else t.equal(problem, 'the columns of its definition take too long', path)
  }
})

/** Why the values are not looked for to the end. */
function problemAt(path: string): string | undefined {
  try {
    valuesAt(path)
    return undefined
  } catch (error) {
    if (error instanceof GiveUp) return error.reason
    throw error
  }
}
