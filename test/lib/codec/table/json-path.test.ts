import t from 'tap'
import { type JsonValue, parseTree, textFromTree } from '../../../../lib/codec/json/tree.ts'
import { evaluateJsonPath, parseJsonPath } from '../../../../lib/codec/table/json-path.ts'

const example: JsonValue = treeOf({
  list: ['a', 'b', 'c'],
  none: null,
  text: 'x',
  number: 2,
  isOn: true,
  items: [
    { name: 'one', size: 1, isOn: true },
    { name: 'two', size: 2, isOn: false },
    { name: 'three', size: 3 },
  ],
})

/** The values as JSON, or the word for what upstream shows as an empty cell. */
function valuesAt(path: string): string {
  const steps = parseJsonPath(path)
  if (steps === undefined) return 'not read'
  const found = evaluateJsonPath(steps, [example])
  return found === undefined ? 'fails' : `[${found.map(textFromTree).join(',')}]`
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
  // What is of another kind is not equal, and in no order.
  ['.items[?(@.name==1)].name', '[]'],
  ['.items[?(@.name!=1)].name', '["one","two","three"]'],
  ['.items[?(@.isOn<"x")].name', '[]'],
  ['.items[?(@.isOn!="true")].name', '["one","two"]'],
  ['.text[?(@.a)]', 'fails'],
  // What depends on the order of Go's maps, or is of no form.
  ['.*', 'not read'],
  ['..name', 'not read'],
  ['.list[a]', 'not read'],
  ['.items[?(@.size=2)]', 'not read'],
  ['.items[?(@.size==x)]', 'not read'],
]

t.test('paths have the values that columns of custom resources show', async t => {
  for (const [path, values] of rows) t.equal(valuesAt(path), values, path)
})
