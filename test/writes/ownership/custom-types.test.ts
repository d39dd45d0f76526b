import t from 'tap'
import { customType } from '../../../lib/writes/ownership/types/custom-types.ts'
import type { FieldType } from '../../../lib/writes/ownership/types/field-type.ts'

function memberType(schema: object): FieldType | undefined {
  const root = { type: 'object', properties: { a: schema } }
  const type = customType(root, { metadata: {}, preservesUnknownFields: false })
  return type.map?.fields?.get('a')?.type
}

/** SchemaToSMD of kube-openapi's schemaconv. */
t.test('the types of schemas are those of their merges', async t => {
  const rows: readonly (readonly [object, FieldType['scalar']])[] = [
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: '' }, 'string'],
    [{ type: 'string', format: 'byte' }, 'string'],
    [{ type: 'string', format: 'date' }, 'untyped'],
    [{ type: 'string', format: 'date-time' }, 'untyped'],
    [{ type: 'integer' }, 'numeric'],
    [{ type: 'number' }, 'numeric'],
    [{ type: 'boolean' }, 'boolean'],
    [{ 'x-kubernetes-int-or-string': true }, 'untyped'],
    [{ type: 'array', items: { type: 'string' } }, undefined],
  ]
  for (const [schema, scalar] of rows) {
    t.equal(memberType(schema)?.scalar, scalar, JSON.stringify(schema))
  }
  const list = (more: object): unknown =>
    memberType({ type: 'array', items: { type: 'string' }, ...more })?.list?.isAtomic
  t.equal(list({}), true)
  t.equal(list({ 'x-kubernetes-list-type': 'atomic' }), true)
  t.equal(list({ 'x-kubernetes-list-type': 'set' }), false)
  const map = (more: object): unknown =>
    memberType({ type: 'object', properties: { b: { type: 'string' } }, ...more })?.map?.isAtomic
  t.equal(map({}), false)
  t.equal(map({ 'x-kubernetes-map-type': 'granular' }), false)
  t.equal(map({ 'x-kubernetes-map-type': 'atomic' }), true)
})
