/** Notes of what was written empty, beside a complete object, and what becomes of them. */

import t from 'tap'
import { parseTree, type JsonObject, textInOrder } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { completeTree } from '../../../lib/writes/decode/complete-tree.ts'
import {
  copyWritten,
  hasEmpties,
  writtenMember,
} from '../../../lib/writes/decode/written-empties.ts'
import { Place } from '../../../lib/writes/validation/place.ts'

function complete(typeName: string, value: unknown): JsonObject {
  const bytes = Buffer.from(JSON.stringify(value))
  const tree = parseTree(bytes, 0, bytes.length) as JsonObject
  return completeTree(tree, schemaOf('1.36').messageType(typeName))
}

t.test('what was written empty is not in the object, and known of it', async t => {
  const secret = complete('core/v1.Secret', { metadata: { labels: {} }, data: {} })
  t.equal(textInOrder(secret), '{"metadata":{}}')
  t.strictSame(writtenMember(secret, 'data'), new Map())
  t.equal(writtenMember(secret, 'stringData'), undefined)
  const object = new Place(secret, '', [])
  t.ok(object.in('data').isWritten)
  t.notOk(object.in('data').isSet)
  t.strictSame(object.in('metadata', 'labels').shown, new Map())
  t.equal(object.in('metadata', 'annotations').shown, null)
})

t.test('copies know it, and objects that are completed again, until a member is there', async t => {
  const copy = copyWritten(complete('core/v1.Secret', { data: {} }))
  const again = completeTree(copy, schemaOf('1.36').messageType('core/v1.Secret'))
  t.strictSame(writtenMember(again, 'data'), new Map())
  again.set('data', new Map([['a', 'YQ==']]))
  t.strictSame(writtenMember(again, 'data'), new Map([['a', 'YQ==']]))
})

t.test('an empty member anywhere in a value is found', async t => {
  const policy = (spec: object): boolean =>
    hasEmpties(complete('networking/v1.NetworkPolicy', { spec }).get('spec'))
  t.notOk(policy({ podSelector: {}, ingress: [{}] }))
  t.ok(policy({ podSelector: { matchLabels: {} } }))
  t.ok(policy({ podSelector: {}, ingress: [{ from: [] }] }))
  t.ok(hasEmpties([]))
  t.notOk(hasEmpties(undefined))
})
