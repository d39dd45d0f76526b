/** The managers after a write: the writer's new fields join what it owned before, entries of one
 *  writer are one, fields that identify the object are nobody's, and the number of updaters is
 *  bounded. */

import type { Steps } from '@watchglass/base'
import { compareUtf8, type JsonObject } from '@watchglass/go'
import { type ManagerName, type Managers, type OwnedFields, managerId } from './managers.ts'
import {
  type Applied,
  type WriteContext,
  applyConfiguration,
  ownersAfterUpdate,
} from './merge-updates.ts'
import { FieldSet } from './sets/field-set.ts'
import { memberElement } from './sets/path-element.ts'
import type { TypedObject } from './versioned-objects.ts'

/** The manager of a write, and its time. */
export interface Writer {
  readonly name: string
  readonly subresource: string
  readonly apiVersion: string
  readonly now: string
}

/** More updaters than this are merged, oldest first. */
const updatersMax = 10
const mergedUpdaters = 'ancient-changes'

/** The managers after an object was replaced. */
export function* managersAfterUpdate(
  context: WriteContext,
  objects: { readonly live: TypedObject; readonly updated: TypedObject },
  before: Managers,
  writer: Writer,
): Steps<Managers> {
  const manager = managerName(writer, 'Update')
  const id = managerId(manager)
  const times = new Map(before.times)
  const owned = yield* ownersAfterUpdate(context, objects, before.owned, currentWrite)
  const current = owned.get(currentId)
  owned.delete(currentId)
  const fields = current?.fields.difference(identifying)
  yield
  if (fields !== undefined && !fields.isEmpty) {
    const previous = owned.get(id)?.fields ?? new FieldSet()
    owned.set(id, { manager, apiVersion: writer.apiVersion, fields: fields.union(previous) })
    times.set(id, writer.now)
  }
  return capUpdaters({ owned, times })
}

/** After an apply. The time stays if nothing changed. */
export function* managersAfterApply(
  context: WriteContext,
  objects: { readonly live: TypedObject; readonly applied: TypedObject },
  before: Managers,
  writer: Writer & { readonly isForced: boolean },
): Steps<{ readonly object: JsonObject | undefined; readonly managers: Managers }> {
  const manager = managerName(writer, 'Apply')
  const id = managerId(manager)
  const how = { manager, isForced: writer.isForced }
  const { object, owned }: Applied = yield* applyConfiguration(context, objects, before.owned, how)
  const own = owned.get(id)
  if (own !== undefined) {
    const fields = own.fields.difference(identifying)
    if (fields.isEmpty) owned.delete(id)
    else owned.set(id, { ...own, fields })
  }
  const times = new Map(before.times)
  if (object !== undefined) times.set(id, writer.now)
  return { object, managers: { owned, times } }
}

function managerName(
  { name, subresource, apiVersion }: Writer,
  operation: ManagerName['operation'],
): ManagerName {
  return { name: name === '' ? 'unknown' : name, operation, subresource, apiVersion }
}

/** The name of the writer during the comparison, so that what it owned before counts as
 *  another's. */
const currentWrite: ManagerName = {
  name: 'current-operation',
  operation: 'Update',
  subresource: '',
  apiVersion: '',
}
const currentId = managerId(currentWrite)

/** Fields that identify the object, and fields that only the server writes. */
const identifying = FieldSet.of(
  ...['apiVersion', 'kind', 'metadata'].map(name => [memberElement(name)]),
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map(name => [memberElement('metadata'), memberElement(name)]),
)

/** The oldest updaters of each version become one. */
function capUpdaters({ owned, times }: Managers): Managers {
  const updaters = [...owned].filter(([, { manager }]) => manager.operation === 'Update')
  let count = updaters.length
  if (count <= updatersMax) return { owned, times }
  const firsts = new Map<string, string>()
  const mergedFields = new Map<string, FieldSet[]>()
  for (const [id, { apiVersion, fields }] of inOrder(updaters, times)) {
    if (count <= updatersMax) break
    const first = firsts.get(apiVersion)
    if (first === undefined) {
      firsts.set(apiVersion, id)
      continue
    }
    const bucket: ManagerName = {
      name: mergedUpdaters,
      operation: 'Update',
      subresource: '',
      apiVersion,
    }
    const bucketId = managerId(bucket)
    const merged = owned.get(bucketId) ?? owned.get(first)
    if (!owned.has(bucketId)) owned.delete(first)
    const all = mergedFields.get(bucketId) ?? (merged === undefined ? [] : [merged.fields])
    mergedFields.set(bucketId, all)
    all.push(fields)
    owned.set(bucketId, { manager: bucket, apiVersion, fields })
    owned.delete(id)
    if (id === bucketId) mergedFields.delete(bucketId)
    const time = times.get(id)
    if (time === undefined) times.delete(bucketId)
    else times.set(bucketId, time)
    count--
  }
  // Once for each of the few versions: a union for each updater would copy all before it again.
  for (const [bucketId, all] of mergedFields) {
    const bucket = owned.get(bucketId)
    if (bucket !== undefined) owned.set(bucketId, { ...bucket, fields: FieldSet.unionOf(all) })
  }
  return { owned, times }
}

/** The oldest first. */
function inOrder(
  updaters: readonly (readonly [string, OwnedFields])[],
  times: ReadonlyMap<string, string>,
): (readonly [string, OwnedFields])[] {
  const placed = updaters.map(updater => {
    const [id, { manager, apiVersion }] = updater
    return { updater, time: times.get(id) ?? '', identifier: goIdentifier(manager, apiVersion) }
  })
  placed.sort((a, b) => compareUtf8(a.time, b.time) || compareUtf8(a.identifier, b.identifier))
  return placed.map(({ updater }) => updater)
}

/** The text by which the server orders updaters of one second. */
function goIdentifier({ name, operation, subresource }: ManagerName, apiVersion: string): string {
  const members: [string, string][] = [
    ['manager', name],
    ['operation', operation],
    ['apiVersion', apiVersion],
    ['subresource', subresource],
  ]
  const present = members.filter(([, value]) => value !== '')
  return `{${present.map(([key, value]) => `"${key}":${JSON.stringify(value)}`).join(',')}}`
}
