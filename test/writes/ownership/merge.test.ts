import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  textFromTree,
} from '../../../lib/go/json/tree.ts'
import { pathText } from '../../../lib/writes/ownership/sets/path-element.ts'
import { compareFields } from '../../../lib/writes/ownership/typed/comparison.ts'
import { fieldsOf } from '../../../lib/writes/ownership/typed/contained-fields.ts'
import { mergeValues } from '../../../lib/writes/ownership/typed/merge.ts'
import { TypeProblems } from '../../../lib/writes/ownership/typed/problems.ts'
import { withoutFields } from '../../../lib/writes/ownership/typed/removal.ts'
import { underType } from '../../../lib/writes/ownership/typed/schema-changes.ts'
import { checkType } from '../../../lib/writes/ownership/typed/validate.ts'
import { customType } from '../../../lib/writes/ownership/types/custom-types.ts'
import { effort } from '../../support/effort.ts'
import { allSteps } from '../../support/steps.ts'
import { treeOf } from '../recorded/load.ts'

const item = {
  type: 'object',
  properties: { name: { type: 'string' }, size: { type: 'integer' } },
}
const schema = {
  type: 'object',
  properties: {
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: item,
    },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
    list: { type: 'array', items: { type: 'integer' } },
    one: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: item.properties },
    dict: { type: 'object', additionalProperties: { type: 'string' } },
    port: { 'x-kubernetes-int-or-string': true },
  },
}
const typeOf = (from: unknown): ReturnType<typeof customType> =>
  customType(from, { metadata: {}, preservesUnknownFields: false })
const type = typeOf(schema)

const number = fc.nat(3).map(n => new JsonNumber(String(n)))
const text = fc.constantFrom('x', 'y', 'z')
const record = (members: Record<string, fc.Arbitrary<JsonValue>>): fc.Arbitrary<JsonObject> =>
  fc
    .record(members, { requiredKeys: [] })
    .map(object => new Map(Object.entries(object) as [string, JsonValue][]))
const namedItem = (name: string): fc.Arbitrary<JsonValue> =>
  record({ size: number }).map(object => new Map([['name', name], ...object]))
const items = fc
  .subarray(['x', 'y', 'z'], { minLength: 1 })
  .chain(names => fc.tuple(...names.map(namedItem)) as fc.Arbitrary<JsonValue[]>)
// Nobody owns an empty set or list with keys.
const object = record({
  items,
  set: fc.uniqueArray(text, { minLength: 1 }),
  list: fc.array(number, { maxLength: 2 }),
  one: record({ name: text, size: number }),
  dict: record({ a: text, b: text }),
  port: fc.oneof(number, text),
})

/** The failure names the seed. */
function always<T>(t: Test, property: fc.IProperty<T>): void {
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 * effort }))
}

t.test('what is applied is merged in, and nothing is taken away', async t => {
  always(
    t,
    fc.property(object, object, (live, applied) => {
      allSteps(checkType(type, live, { allowsDuplicates: false }))
      const merged = mergeValues(type, live, applied) ?? new Map()
      allSteps(checkType(type, merged, { allowsDuplicates: false }))
      const { removed, modified, added } = allSteps(compareFields(type, live, merged))
      const fields = allSteps(fieldsOf(type, applied)).withDeclaredMembers(type)
      const again = mergeValues(type, merged, applied) ?? new Map()
      const alone = mergeValues(type, live, live) ?? new Map()
      return (
        removed.isEmpty &&
        modified.union(added).difference(fields).isEmpty &&
        textFromTree(again) === textFromTree(merged) &&
        textFromTree(alone) === textFromTree(live)
      )
    }),
  )
})

t.test('what is added one way is removed the other way, and no field is both', async t => {
  always(
    t,
    fc.property(object, object, (a, b) => {
      const there = allSteps(compareFields(type, a, b))
      const back = allSteps(compareFields(type, b, a))
      return (
        there.added.equals(back.removed) &&
        there.modified.equals(back.modified) &&
        there.added.intersection(there.removed.union(there.modified)).isEmpty
      )
    }),
  )
})

t.test('an object without all its fields is nothing', async t => {
  always(
    t,
    fc.property(object, value => {
      const fields = allSteps(fieldsOf(type, value)).withDeclaredMembers(type)
      const left = withoutFields(type, value, fields)
      return (
        left === null ||
        (left instanceof Map && [...left.values()].every(member => sizeOf(member) === 0))
      )
    }),
  )
})

t.test(
  'items come in the order that is applied, others stay before the one that followed',
  async t => {
    const merge = (live: readonly string[], applied: readonly string[]): JsonValue => {
      const [left, right] = [live, applied].map(names =>
        treeOf({ items: names.map(name => ({ name })) }),
      )
      const merged = mergeValues(type, left, right) as JsonObject
      const named = merged.get('items') as JsonObject[]
      return named.map(one => one.get('name') as JsonValue)
    }
    t.strictSame(merge(['a', 'b', 'c'], ['c', 'a']), ['b', 'c', 'a'])
    t.strictSame(merge(['a', 'b'], ['x', 'b']), ['a', 'x', 'b'])
    t.strictSame(merge([], ['b', 'a']), ['b', 'a'])
  },
)

t.test('values that do not fit their types are told of in the words of the server', async t => {
  const problems = (value: unknown): string => {
    try {
      allSteps(checkType(type, treeOf(value), { allowsDuplicates: false }))
      return ''
    } catch (error) {
      if (error instanceof TypeProblems) return error.message
      throw error
    }
  }
  const table: [value: unknown, problem: string][] = [
    [{ bogus: 1 }, '.bogus: field not declared in schema'],
    [{ list: ['x'] }, '.list[0]: expected numeric (int or float), got string'],
    [{ set: [1] }, '.set[=1]: expected string, got &value.valueUnstructured{Value:1}'],
    [{ set: ['x', 'x'] }, '.set: duplicate entries for key [="x"]'],
    [{ dict: 'x' }, '.dict: expected map, got &{x}'],
    [{ items: { a: 1 } }, '.items: expected list, got &{map[a:1]}'],
    [
      { items: [null] },
      '.items: element 0: associative list with keys may not have a null element',
    ],
    [
      { items: [{}] },
      '.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
    ],
    [{ items: [{ name: 'a' }], list: [1], port: 'web' }, ''],
  ]
  for (const [value, problem] of table) t.equal(problems(value), problem, JSON.stringify(value))
})

t.test('who owned a part of what has become one value owns all of it', async t => {
  const value = treeOf({ one: { name: 'x' }, list: [1] })
  const granular = typeOf({
    ...schema,
    properties: { ...schema.properties, one: { type: 'object', properties: item.properties } },
  })
  const before = allSteps(fieldsOf(granular, value))
  t.strictSame(before.paths().map(pathText), ['.list', '.one.name'])
  t.strictSame(underType(before, type).paths().map(pathText), ['.list', '.one'])
  t.equal(underType(before, granular), before)
})

function sizeOf(value: JsonValue): number {
  return Array.isArray(value) ? value.length : value instanceof Map ? value.size : 1
}
