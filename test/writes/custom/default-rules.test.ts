import t from 'tap'
import { type JsonValue, parseTree, textInOrder } from '../../../lib/go/json/tree.ts'
import { coerceDefaults } from '../../../lib/writes/custom/definition/coerce-defaults.ts'
import { checkDefaults } from '../../../lib/writes/custom/definition/default-rules.ts'
import type { FieldError } from '../../../lib/writes/field-errors.ts'
import { Place } from '../../../lib/writes/validation/place.ts'

/** Reads of members of all schemas, and characters that JSON.parse has read. */
let work = 0

class Counted extends Map<string, JsonValue> {
  override get(name: string): JsonValue | undefined {
    work++
    return super.get(name)
  }
  override *[Symbol.iterator](): MapIterator<[string, JsonValue]> {
    for (const member of super.entries()) {
      work++
      yield member
    }
  }
}

/** So many levels, each with a default and a rule. */
function nested(levels: number): JsonValue {
  const members: [string, JsonValue][] = [
    ['type', 'object'],
    ['default', new Map([['text', 'x'.repeat(1_000)]])],
    ['x-kubernetes-validations', [new Map([['rule', 'self.text.size() > 0']])]],
  ]
  const properties: [string, JsonValue][] = [['text', new Counted([['type', 'string']])]]
  if (levels > 0) properties.push(['inner', nested(levels - 1)])
  return new Counted([...members, ['properties', new Counted(properties)]])
}

function treeOf(text: string): JsonValue {
  const bytes = Buffer.from(text)
  return parseTree(bytes, 0, bytes.length) as JsonValue
}

function errorsOf(schema: JsonValue | undefined): FieldError[] {
  const errors: FieldError[] = []
  checkDefaults(new Place(schema, 'openAPIV3Schema', errors))
  return errors
}

t.test('a default inside of a default costs no more than one beside it', async t => {
  const { parse } = JSON
  t.teardown(() => void (JSON.parse = parse))
  JSON.parse = (text, reviver) => {
    work += text.length
    return parse(text, reviver) as unknown
  }
  const workOf = (levels: number): number => {
    const schema: JsonValue = new Counted([
      ['type', 'object'],
      ['properties', new Counted([['spec', nested(levels)]])],
    ])
    work = 0
    t.same(errorsOf(schema), [])
    return work
  }
  const [some, more] = [workOf(20), workOf(80)]
  t.ok(more < 5 * some, `${more} for 80 levels, ${some} for 20`)
})

t.test('a default that lies deep is checked as any other', async t => {
  let text = '{"type":"string","default":5}'
  for (let i = 0; i < 180; i++) text = `{"type":"object","properties":{"a":${text}}}`
  const [error, ...others] = errorsOf(treeOf(text))
  t.match(error?.message, 'must be of type string')
  t.same(others, [])
})

t.test('a default that is a resource is stored with what metadata can have', async t => {
  const embedded = '"type":"object","x-kubernetes-embedded-resource":true'
  const stored = (schema: string): string => {
    const tree = treeOf(schema)
    coerceDefaults(tree)
    return textInOrder(tree)
  }
  const schema = (metadata: string): string =>
    `{"properties":{"a":{"type":"array","items":{${embedded},"default":{"kind":"A","metadata":${metadata}}}}}}`
  t.equal(stored(schema('{"name":"x","foo":1}')), schema('{"name":"x"}'))
  // That a default is wrong is found when it is checked.
  for (const metadata of ['5', '{"name":5}']) t.equal(stored(schema(metadata)), schema(metadata))
  const inside = `{"properties":{"a":{${embedded},"properties":{"metadata":{"default":{"foo":1}}}}}}`
  t.equal(stored(inside), inside)
  const deeper = inside.replace(
    '"default":{"foo":1}',
    `${embedded},"default":{"metadata":{"foo":1}}`,
  )
  t.equal(stored(deeper), deeper.replace('{"foo":1}', '{}'))
})
