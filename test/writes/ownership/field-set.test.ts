import fc from 'fast-check'
import t, { type Test } from 'tap'
import { JsonNumber, parseTree, textInOrder } from '../../../lib/go/json/tree.ts'
import { FieldSet } from '../../../lib/writes/ownership/sets/field-set.ts'
import { fieldsFromSet, setFromFields } from '../../../lib/writes/ownership/sets/fields-v1.ts'
import {
  elementFromText,
  keysElement,
  memberElement,
  pathText,
  valueElement,
} from '../../../lib/writes/ownership/sets/path-element.ts'
import { effort } from '../../support/effort.ts'
import { allSteps } from '../../support/steps.ts'

const element = fc.oneof(
  fc.constantFrom('a', 'b', 'metadata').map(memberElement),
  fc.constantFrom('x', 'y').map(name => keysElement([['name', name]])),
  fc.constantFrom('x', 'y').map(valueElement),
)
const path = fc.array(element, { minLength: 1, maxLength: 4 })
const set = fc.array(path, { maxLength: 12 }).map(paths => FieldSet.of(...paths))

/** The failure names the seed. */
function always<T>(t: Test, property: fc.IProperty<T>): void {
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300 * effort }))
}

const texts = (fields: FieldSet): string[] => fields.paths().map(pathText)

t.test('the operations of sets are those of their paths', async t => {
  always(
    t,
    fc.property(set, set, path, (a, b, one) => {
      const inA = a.has(one)
      const inB = b.has(one)
      const isCovered = one.some((_, i) => b.has(one.slice(0, i + 1)))
      return (
        a.union(b).has(one) === (inA || inB) &&
        a.intersection(b).has(one) === (inA && inB) &&
        a.difference(b).has(one) === (inA && !inB) &&
        a.recursiveDifference(b).has(one) === (inA && !isCovered)
      )
    }),
  )
})

t.test('sets obey the laws of sets', async t => {
  always(
    t,
    fc.property(
      set,
      set,
      set,
      (a, b, c) =>
        a.union(b).equals(b.union(a)) &&
        a.union(b).difference(b).union(a.intersection(b)).equals(a) &&
        a.intersection(b.union(c)).equals(a.intersection(b).union(a.intersection(c))) &&
        a.difference(a).isEmpty &&
        a.isEmpty === (a.paths().length === 0),
    ),
  )
})

t.test('a set is read again as it was written', async t => {
  always(
    t,
    fc.property(set, fields => {
      const again = setFromFields(allSteps(fieldsFromSet(fields)))
      return again !== undefined && String(texts(again)) === String(texts(fields))
    }),
  )
})

t.test('FieldsV1 lists members, then keys, then values, and itself first', async t => {
  const spec = memberElement('spec')
  const fields = FieldSet.of(
    [spec, valueElement('v')],
    [spec, keysElement([['port', new JsonNumber('80')]])],
    [spec, keysElement([['port', new JsonNumber('9')]])],
    [spec, memberElement('z')],
    [spec],
    [memberElement('data')],
  )
  t.equal(
    textInOrder(allSteps(fieldsFromSet(fields))),
    '{"f:data":{},"f:spec":{".":{},"f:z":{},"k:{\\"port\\":9}":{},"k:{\\"port\\":80}":{},"v:\\"v\\"":{}}}',
  )
  t.strictSame(texts(fields), [
    '.data',
    '.spec',
    '.spec.z',
    '.spec[port=9]',
    '.spec[port=80]',
    '.spec[="v"]',
  ])
})

t.test('places in a list are in the order of their numbers, after all else', async t => {
  const [nine, ten] = [elementFromText('i:9'), elementFromText('i:10')]
  if (typeof nine !== 'object' || typeof ten !== 'object') throw new Error('no element')
  const fields = FieldSet.of([ten], [valueElement('v')], [nine], [memberElement('a')])
  t.strictSame(texts(fields), ['.a', '[="v"]', '[9]', '[10]'])
})

t.test('malformed fields are no set, and unknown ones are skipped', async t => {
  const read = (text: string): string[] | undefined => {
    const tree = parseTree(Buffer.from(text), 0, text.length) ?? null
    const fields = setFromFields(tree)
    return fields && texts(fields)
  }
  t.strictSame(read('{"f:a":{},"q:b":{}}'), ['.a'])
  t.strictSame(read('{"f:a":null,"i:3":{}}'), ['.a', '[3]'])
  for (const text of ['{"a":{}}', '{"v:{":{}}', '{"k:[]":{}}', '{"i:x":{}}', '{"f:a":1}', '[]']) {
    t.equal(read(text), undefined, text)
  }
  t.equal(elementFromText('f'), undefined)
})
