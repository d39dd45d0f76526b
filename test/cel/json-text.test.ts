import t from 'tap'
import {
  jsonFromValue,
  kubernetesEnvironment,
  shapeOf,
  valueFromJson,
} from '../../lib/cel/index.ts'
import { dynType } from '../../lib/cel/types.ts'
import { CelError } from '../../lib/cel/values/errors.ts'

const language = kubernetesEnvironment(36)

/** The JSON of what an expression makes of an object, or its error. */
function made(source: string, object: string): string {
  const { expression, problems } = language.compile(source, new Map([['object', dynType]]))
  if (expression === undefined) return problems
  const { value, error } = expression.run([valueFromJson(object)], 10_000)
  return error ?? jsonFromValue(value)
}

t.test('JSON comes out as it went in, with the types that an expression sees', async t => {
  const object = '{"b":{"z":[1,-2],"a":null},"t":true,"s":"é","n":9007199254740991,"d":1.5}'
  const rows: readonly [source: string, json: string][] = [
    ['object', object],
    ['object.b.z.map(n, n * 2)', '[2,-4]'],
    // As protobuf's JSON has integers that a double cannot hold.
    ['object.n + 2', '"9007199254740993"'],
    ['object.d + 0.5', '2'],
    ['type(object.d) == double', 'true'],
    ['type(object.n) == int', 'true'],
    ["duration('90s')", '"90s"'],
    ["timestamp('2026-11-28T01:00:00Z')", '"2026-11-28T01:00:00Z"'],
    ['object.none', 'no such key: none'],
  ]
  for (const [source, json] of rows) t.equal(made(source, object), json, source)
})

t.test('a number is what its text says, or what the schema says', async t => {
  const shape = shapeOf({ type: 'object', properties: { ratio: { type: 'number' } } })
  const isDouble = language.compile('type(self.ratio) == double', new Map([['self', dynType]]))
  for (const [value, expected] of [
    [valueFromJson('{"ratio":1}', shape), true],
    [valueFromJson('{"ratio":1}'), false],
    [valueFromJson('{"ratio":1.0}'), true],
  ] as const) {
    t.equal(isDouble.expression!.run([value], 100).value, expected)
  }
})

t.test('a text that is no JSON, or of another type, is an error of the language', async t => {
  for (const text of ['', '{', '[1,]', 'nil', '[1] 2', `${'['.repeat(20_000)}`]) {
    try {
      valueFromJson(text)
      t.fail(`taken: ${text.slice(0, 9)}`)
    } catch (error) {
      t.ok(error instanceof CelError, text.slice(0, 9))
    }
  }
  t.throws(() => valueFromJson('"a"', shapeOf({ type: 'integer' })), {
    message: /expected int, got string/,
  })
})
