/** Writes of which the cost is a product of two things that each are allowed: owners times their
 *  fields, owners times the size of the object, fields times the length of their paths, items of a
 *  patch times the list that they are merged into. */

import t from 'tap'
import { atOnce } from '../../lib/base/slice.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import type { JsonObject } from '../../lib/go/json/tree.ts'
import type { StatusError } from '../../lib/kube/status.ts'
import { serverSideApply, updateManagedFields } from '../../lib/writes/ownership/managed-fields.ts'
import type { OwnershipContext } from '../../lib/writes/ownership/ownership-context.ts'
import { FieldSet } from '../../lib/writes/ownership/sets/field-set.ts'
import { memberElement } from '../../lib/writes/ownership/sets/path-element.ts'
import { applyPatch } from '../../lib/writes/patches/apply-patch.ts'
import type { WriteKind } from '../../lib/writes/write-kind.ts'
import { mapCalls } from '../support/attacks/map-calls.ts'
import { treeOf } from '../writes/recorded/load.ts'
import { allSteps } from '../support/steps.ts'

const schema = schemaOf('1.36')
const configMaps: WriteKind = {
  schema,
  group: '',
  version: 'v1',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  isNamespaced: true,
  type: schema.messageType('core/v1.ConfigMap'),
  definition: undefined,
}
const deployments: WriteKind = {
  ...configMaps,
  group: 'apps',
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  resource: 'deployments',
  type: schema.messageType('apps/v1.Deployment'),
}
/** A kind of which nothing is declared. */
const anything: WriteKind = { ...configMaps, type: undefined }

/** A write of a config map, with the conversions that it asks for. */
function writing(manager: string, kind = configMaps) {
  const converted: string[] = []
  const context: OwnershipContext & { readonly force: boolean } = {
    kind,
    manager,
    subresource: '',
    now: '2026-01-02T00:00:00Z',
    force: false,
    convert: (object, apiVersion) => {
      converted.push(apiVersion)
      return { kind, object }
    },
  }
  return { context, converted }
}

/** A config map with as many entries, each of them another owner's. */
function mapOf(count: number, operation: 'Apply' | 'Update', apiVersion = 'v1'): JsonObject {
  const names = Array.from({ length: count }, (_, i) => `k${i}`)
  const managedFields = names.map((name, i) => ({
    manager: `m${i}`,
    operation,
    apiVersion,
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { [`f:${name}`]: {} } },
  }))
  const data = Object.fromEntries(names.map(name => [name, 'x']))
  const metadata = { name: 'a', managedFields }
  return treeOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
}

t.test('work for owners grows with their number, not with its square', async t => {
  const update = (count: number): number => {
    const object = mapOf(count, 'Update')
    const { context } = writing('me')
    return mapCalls('set', () => atOnce(updateManagedFields(context, object, object)))
  }
  const apply = (count: number): number => {
    const live = mapOf(count, 'Apply')
    const own = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k0: 'x' } }
    const { context } = writing('m1')
    return mapCalls('set', () => atOnce(serverSideApply(context, live, treeOf(own))))
  }
  for (const [name, work] of [
    ['update', update],
    ['apply', apply],
  ] as const) {
    const [few, many] = [work(200), work(800)]
    t.comment(`${name}: ${few}, ${many}`)
    t.ok(many < few * 6, name)
  }
})

t.test('an object is converted once for each version, however many own fields in it', async t => {
  const object = mapOf(300, 'Apply', 'v2')
  const { context, converted } = writing('me')
  atOnce(updateManagedFields(context, object, object))
  t.ok(converted.length < 10, `${converted.length} conversions`)
})

/** An object with as many fields at the end of a path of so many long names. */
function deepObject(fields: number, value: string): JsonObject {
  let inner: object = Object.fromEntries(
    Array.from({ length: fields }, (_, i): [string, string] => [`k${i}`, value]),
  )
  for (let i = 0; i < 100; i++) inner = { ['n'.repeat(500)]: inner }
  return treeOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, inner })
}

t.test('conflicts have a bound together', async t => {
  const conflict = (fields: number): Partial<StatusError> => {
    const first = deepObject(fields, 'a')
    const live = atOnce(serverSideApply(writing('a', anything).context, undefined, first))
    const { context } = writing('b', anything)
    try {
      atOnce(serverSideApply(context, live, deepObject(fields, 'b')))
      return {}
    } catch (error) {
      return error as StatusError
    }
  }
  t.match(conflict(20), { status: { code: 409 } })
  const { message = '' } = conflict(1_000)
  t.equal(message, 'Request entity too large: the conflicts of the apply are too long')
})

t.test('problems of types have a bound together', async t => {
  const { context } = writing('a', deployments)
  const containers = Array.from({ length: 100 }, () => ({
    name: 'c'.repeat(100_000),
    image: 'i',
  }))
  const spec = { template: { spec: { containers } } }
  const metadata = { name: 'a' }
  const object = treeOf({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec })
  t.throws(() => atOnce(serverSideApply(context, undefined, object)), {
    message: 'Request entity too large: the problems of the object are too long',
  })
})

t.test('a field at the end of a long path is found from the one before', async t => {
  const path = Array.from({ length: 400 }, (_, i) => memberElement(`a${i}`))
  const paths = Array.from({ length: 1_000 }, (_, i) => [...path, memberElement(`k${i}`)])
  const looked = mapCalls('get', () => void FieldSet.ofAll(paths))
  t.ok(looked < 5_000, `${looked} nodes were looked up`)
})

t.test('a strategic patch merges each item a few times, not once for each of its own', async t => {
  const env = Array.from({ length: 2_000 }, (_, i) => ({ name: `e${i}`, value: 'x' }))
  const deployment = (containers: object[]): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: { template: { spec: { containers } } },
  })
  const live = treeOf(deployment([{ name: 'c', env }]))
  const patch = (times: number) => () => {
    const containers = Array.from({ length: times }, () => ({ name: 'c', env: [{ name: 'e1' }] }))
    const body = Buffer.from(JSON.stringify({ spec: { template: { spec: { containers } } } }))
    return allSteps(applyPatch(deployments, live, { type: 'strategic', body, isChecked: true }))
  }
  t.doesNotThrow(patch(20))
  t.throws(patch(1_000), {
    message: 'Request entity too large: the patch merges too many items of lists',
  })
})
