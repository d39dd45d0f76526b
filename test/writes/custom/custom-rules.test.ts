/** Custom resources against all rules of their definition: which errors keep rules in CEL from
 *  running (apiextensions-apiserver: registry/customresource/strategy.go). */

import t from 'tap'
import { customRulesOf } from '../../../lib/writes/custom/custom-rules.ts'
import type { WriteKind } from '../../../lib/writes/write-kind.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { allSteps } from '../../support/steps.ts'
import { treeOf } from '../recorded/load.ts'

const schema = {
  type: 'object',
  required: ['must'],
  properties: {
    must: { type: 'string' },
    list: { type: 'array', maxItems: 1, items: { type: 'integer' } },
    text: { type: 'string', maxLength: 1 },
    word: { type: 'string', enum: ['a'] },
    number: { type: 'integer', minimum: 1 },
  },
  'x-kubernetes-validations': [{ rule: "self.must != 'no'", message: 'broken' }],
}
const kind = {
  schema: schemaOf('1.36'),
  group: 'example.com',
  version: 'v1',
  apiVersion: 'example.com/v1',
  kind: 'A',
  resource: 'as',
  isNamespaced: true,
  type: undefined,
  definition: { schema, preservesUnknownFields: false, scale: undefined },
} as unknown as WriteKind

function errorsOf(members: object): string[] {
  const metadata = { name: 'a', namespace: 'ns', uid: 'u' }
  const object = treeOf({ apiVersion: 'example.com/v1', kind: 'A', metadata, ...members })
  const { errors } = allSteps(customRulesOf(kind).validate(object, undefined, ''))
  return errors.map(({ field, message }) => `${field}: ${message}`)
}

const unchecked =
  '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

t.test('rules in CEL do not run on an object with missing, long, many or wrong values', async t => {
  t.strictSame(errorsOf({ must: 'yes' }), [])
  t.strictSame(errorsOf({ must: 'no' }), ['<nil>: Invalid value: broken'])
  const rows: readonly (readonly [object, string])[] = [
    [{}, 'must: Required value'],
    [{ must: 'no', list: [1, 2] }, 'list: Too many: 2: must have at most 1 item'],
    [{ must: 'no', text: 'ab' }, 'text: Too long: may not be more than 1 byte'],
    [{ must: 'no', word: 'b' }, 'word: Unsupported value: "b": supported values: "a"'],
  ]
  for (const [members, error] of rows) {
    t.strictSame(errorsOf(members), [error, unchecked], JSON.stringify(members))
  }
  t.equal(errorsOf({ must: 'no', number: 0 }).at(-1), '<nil>: Invalid value: broken')
})
