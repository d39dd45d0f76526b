/** CustomResourceDefinitions: a new one has no status but the version that is stored, and every
 *  storage version is noted. Their schemas and rules are in custom/definition. */

import { itemsOf, type JsonObject, type JsonValue, memberAt, memberOf } from '@watchglass/go'
import { coerceDefaults } from '../../custom/definition/coerce-defaults.ts'
import {
  checkChangedDefinition,
  checkDefinitionStatus,
  checkNewDefinition,
} from '../../custom/definition/definition-rules.ts'
import { ofDefinition } from '../../custom/definition/warnings.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const customResourceDefinition: BuiltInKind = kind({
  group: 'apiextensions.k8s.io',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  hasStatus: true,
  needsVersion: true,
  counted: ['spec'],
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
  hasOwnMetadata: true,
  validateCreate: checkNewDefinition,
  validateUpdate: checkChangedDefinition,
  warn: ofDefinition,
  subresources: {
    status: {
      validate: checkDefinitionStatus,
      warn: ofDefinition,
    },
  },
})

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
