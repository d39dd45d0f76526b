import t from 'tap'
import {
  MalformedManagedFields,
  managedFieldsOf,
  readManagers,
} from '../../../lib/writes/ownership/managers.ts'
import { type JsonValue, textFromTree } from '../../../lib/go/json/tree.ts'
import { treeOf } from '../recorded/load.ts'

const right = {
  manager: 'm',
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:data': { '.': {}, 'f:a': {} } },
}

function listOf(...entries: readonly object[]): JsonValue {
  return treeOf({ entries }).get('entries') as JsonValue
}

function writtenAgain(...entries: readonly object[]): unknown {
  const listed = managedFieldsOf(readManagers(listOf(...entries)))
  return listed === undefined ? undefined : (JSON.parse(textFromTree(listed)) as unknown)
}

t.test('entries are written as they were read', async t => {
  const apply = { ...right, operation: 'Apply', manager: 'a' }
  const ofStatus = { ...right, subresource: 'status' }
  const { time: _time, ...timeless } = right
  const { manager: _manager, ...nameless } = right
  for (const entries of [[right], [apply], [apply, right], [timeless], [nameless], [ofStatus]]) {
    t.strictSame(writtenAgain(...entries), entries)
  }
  t.equal(writtenAgain(), undefined)
})

/** sortEncodedManagedFields of structured-merge-diff's manager: Apply comes before Update, then the
 *  time decides, then the names. */
t.test('who applies comes first, then who came first', async t => {
  const named = (operation: string, time: string, rest: object): object => {
    return { ...right, operation, time, ...rest }
  }
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z']
  const inOrder = [
    named('Apply', early, { manager: 'z' }),
    named('Apply', late, { manager: 'a' }),
    named('Update', early, { manager: 'b', apiVersion: 'v1' }),
    named('Update', early, { manager: 'b', apiVersion: 'v2' }),
    named('Update', early, { manager: 'b', apiVersion: 'v2', subresource: 'scale' }),
    named('Update', early, { manager: 'c' }),
    named('Update', late, { manager: 'a' }),
  ]
  t.strictSame(writtenAgain(...inOrder), inOrder)
  t.strictSame(writtenAgain(...inOrder.toReversed()), inOrder)
})

t.test('who applies in two versions is one manager, who updates in two is two', async t => {
  const inVersions = (operation: string): object[] =>
    ['v1', 'v2'].map(apiVersion => ({ ...right, operation, apiVersion }))
  t.strictSame(writtenAgain(...inVersions('Update')), inVersions('Update'))
  t.strictSame(writtenAgain(...inVersions('Apply')), inVersions('Apply').slice(1))
  const [first] = inVersions('Apply')
  const { time: _, ...timeless } = { ...right, operation: 'Apply', apiVersion: 'v2' }
  // The last entry's time counts, also if it has none.
  t.strictSame(writtenAgain(first as object, timeless), [timeless])
})

/** DecodeManagedFields and validateManagedFieldsEntry. */
t.test('what is malformed is told of', async t => {
  const rows: readonly (readonly [object, string])[] = [
    [{ operation: 'Replace' }, 'operation must be `Apply` or `Update`'],
    [{ operation: undefined }, 'operation must be `Apply` or `Update`'],
    [{ apiVersion: '' }, 'apiVersion must not be empty'],
    [{ fieldsType: undefined }, 'missing fieldsType in managed fields entry 1'],
    [{ fieldsType: '' }, 'missing fieldsType in managed fields entry 1'],
    [{ fieldsType: 'FieldsV2' }, 'invalid fieldsType "FieldsV2" in managed fields entry 1'],
    [{ fieldsV1: { 'k:nokey': {} } }, 'error decoding set in managed fields entry 1'],
  ]
  for (const [change, message] of rows) {
    const read = (): unknown => readManagers(listOf(right, { ...right, ...change }))
    t.throws(read, new MalformedManagedFields(message))
  }
})
