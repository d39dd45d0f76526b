import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseFieldSelector, resolveFields } from '../../../lib/kube/selectors/field-selector.ts'
import { builtIn, refusalOf } from '../../support/kube/kube-builders.ts'
import { anyCharacter } from '../../support/kube/any-character.ts'

t.test('terms are read with their escapes', async t => {
  const { requirements } = parseFieldSelector('b!=2,a=x\\=y\\,z\\\\,,c==,=,!=')
  t.strictSame(requirements, [
    { label: 'a', value: 'x=y,z\\', isEqual: true },
    { label: 'b', value: '2', isEqual: false },
    { label: 'c', value: '', isEqual: true },
  ])
  t.ok(parseFieldSelector(',').isEmpty)
})

t.test('the exact value is the one of the first term in the order of texts', async t => {
  const selector = parseFieldSelector('metadata.name=b,metadata.name=a,metadata.name!=c')
  t.equal(selector.exactValue('metadata.name'), 'a')
  t.equal(selector.exactValue('spec.nodeName'), undefined)
})

t.test('what is no selector is refused in the words of package fields', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['a=1,b>2', "invalid selector: 'a=1,b>2'; can't understand 'b>2'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a=\\q', 'invalid field selector: invalid escape sequence: \\q'],
    ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=\\😀', 'invalid field selector: invalid escape sequence: \\😀'],
  ]
  for (const [selector, message] of cases) {
    t.equal(refusalOf(() => parseFieldSelector(selector))?.message, message, selector)
  }
})

t.test('a value survives escaping', async t => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), value => {
      const escaped = value.replace(/[\\,=]/g, char => `\\${char}`)
      const [term] = parseFieldSelector(`a=${escaped}`).requirements
      assert.equal(term?.value, value)
    }),
  )
  t.pass('no difference')
})

t.test('a field that the resource does not have is refused in its words', async t => {
  const cases: readonly (readonly [string, string, string, string])[] = [
    ['pods', '', 'spec.foo', 'field label not supported: spec.foo'],
    ['jobs', 'batch', 'x', 'field label "x" not supported for Job'],
    [
      'configmaps',
      '',
      '$&',
      '"$&" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    [
      'resourceslices',
      'resource.k8s.io',
      'x',
      'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x',
    ],
  ]
  for (const [resource, group, label, message] of cases) {
    const selector = parseFieldSelector(`${label}=1`)
    const refusal = refusalOf(() => resolveFields(selector, builtIn(resource, group)))
    t.equal(refusal?.message, message, label)
  }
})
