/** CustomResourceDefinitions: a new one has no status but the version that is stored, and every
 *  storage version is noted. Defaults lose what no metadata has. */

import { itemsOf, type JsonObject, type JsonValue, memberAt, memberOf } from '@watchglass/go'
import { coerceDefaults } from '../custom/definition/coerce-defaults.ts'
import type { StrategyRow } from './row.ts'

export const definitions: StrategyRow = {
  hasStatus: true,
  counted: ['spec'],
  needsVersion: true,
  prepareCreate: object => {
    const names = new Map<string, JsonValue>([
      ['plural', ''],
      ['kind', ''],
    ])
    const status: JsonObject = new Map<string, JsonValue>([
      ['conditions', null],
      ['acceptedNames', names],
      ['storedVersions', null],
    ])
    object.set('status', status)
    prepare(object)
  },
  prepareUpdate: prepare,
}

function prepare(object: JsonObject): void {
  noteStorageVersion(object)
  for (const version of itemsOf(memberOf(object.get('spec'), 'versions'))) {
    coerceDefaults(memberAt(version, ['schema', 'openAPIV3Schema']))
  }
}

function noteStorageVersion(object: JsonObject): void {
  const storage = itemsOf(memberOf(object.get('spec'), 'versions')).find(
    version => memberOf(version, 'storage') === true,
  )
  const name = memberOf(storage, 'name')
  const known = object.get('status')
  if (typeof name !== 'string' || !(known instanceof Map)) return
  const stored = itemsOf(known.get('storedVersions'))
  if (stored.includes(name)) return
  object.set('status', new Map([...known, ['storedVersions', [...stored, name]]]))
}
