/** The managers of an object's fields, as metadata.managedFields lists them: who, by which
 *  operation, in which version of the API and through which subresource; since when; and which
 *  fields. */

import { atOnce, type Steps } from '@watchglass/base'
import { compareUtf8, itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import type { FieldSet } from './sets/field-set.ts'
import { fieldsFromSet, setFromFields } from './sets/fields-v1.ts'

export type ManagerOperation = 'Apply' | 'Update'

/** Two entries of one manager have the same. Who applies is one manager in all versions. */
export interface ManagerName {
  readonly name: string
  readonly operation: ManagerOperation
  readonly subresource: string
  /** Version of an update, empty for an apply; that of the fields is in `OwnedFields`. */
  readonly apiVersion: string
}

export interface OwnedFields {
  readonly manager: ManagerName
  readonly apiVersion: string
  readonly fields: FieldSet
}

/** All managers of an object, by `managerId`. */
export interface Managers {
  readonly owned: Map<string, OwnedFields>
  /** When each last changed something, as the API writes times; they outlive entries that lose
   *  all their fields. */
  readonly times: Map<string, string>
}

export function noManagers(): Managers {
  return { owned: new Map(), times: new Map() }
}

export function managerId({ name, operation, subresource, apiVersion }: ManagerName): string {
  return JSON.stringify([name, operation, operation === 'Apply' ? '' : apiVersion, subresource])
}

/** The failure of an entry that is malformed. */
export class MalformedManagedFields extends Error {}

/** The managers that metadata.managedFields lists. Throws `MalformedManagedFields`. */
export function readManagers(managedFields: JsonValue | undefined): Managers {
  const managers = noManagers()
  for (const [i, entry] of itemsOf(managedFields).entries()) {
    const operation = textOf(entry, 'operation')
    if (operation !== 'Apply' && operation !== 'Update') {
      throw new MalformedManagedFields('operation must be `Apply` or `Update`')
    }
    const apiVersion = textOf(entry, 'apiVersion')
    if (apiVersion === '') throw new MalformedManagedFields('apiVersion must not be empty')
    const fieldsType = textOf(entry, 'fieldsType')
    if (fieldsType !== 'FieldsV1') {
      const problem =
        fieldsType === ''
          ? 'missing fieldsType'
          : `invalid fieldsType ${JSON.stringify(fieldsType)}`
      throw new MalformedManagedFields(`${problem} in managed fields entry ${String(i)}`)
    }
    const fields = setFromFields(memberOf(entry, 'fieldsV1') ?? null)
    if (fields === undefined) {
      throw new MalformedManagedFields(`error decoding set in managed fields entry ${String(i)}`)
    }
    const subresource = textOf(entry, 'subresource')
    const manager = { name: textOf(entry, 'manager'), operation, subresource, apiVersion } as const
    const id = managerId(manager)
    managers.owned.set(id, { manager, apiVersion, fields })
    const time = textOf(entry, 'time')
    if (time === '') managers.times.delete(id)
    else managers.times.set(id, time)
  }
  return managers
}

/** metadata.managedFields: appliers first, then by time; undefined if nobody owns anything. */
export function managedFieldsOf(managers: Managers): JsonValue[] | undefined {
  return atOnce(managedFieldsInSteps(managers))
}

/** `managedFieldsOf` in steps. */
export function* managedFieldsInSteps(managers: Managers): Steps<JsonValue[] | undefined> {
  if (managers.owned.size === 0) return undefined
  const entries = [...managers.owned].map(([id, owned]) => ({
    owned,
    time: managers.times.get(id) ?? '',
  }))
  entries.sort((a, b) => {
    const left = a.owned.manager
    const right = b.owned.manager
    return (
      compareUtf8(left.operation, right.operation) ||
      compareUtf8(a.time, b.time) ||
      compareUtf8(left.name, right.name) ||
      compareUtf8(a.owned.apiVersion, b.owned.apiVersion) ||
      compareUtf8(left.subresource, right.subresource)
    )
  })
  const listed: JsonValue[] = []
  for (const { owned, time } of entries) listed.push(yield* entryOf(owned, time))
  return listed
}

/** The members in the order in which the API writes them. */
function* entryOf({ manager, apiVersion, fields }: OwnedFields, time: string): Steps<JsonObject> {
  const entry: JsonObject = new Map()
  if (manager.name !== '') entry.set('manager', manager.name)
  entry.set('operation', manager.operation)
  entry.set('apiVersion', apiVersion)
  if (time !== '') entry.set('time', time)
  entry.set('fieldsType', 'FieldsV1')
  entry.set('fieldsV1', yield* fieldsFromSet(fields))
  if (manager.subresource !== '') entry.set('subresource', manager.subresource)
  return entry
}

function textOf(entry: JsonValue, key: string): string {
  const value = memberOf(entry, key)
  return typeof value === 'string' ? value : ''
}
