/** Objects in the server's internal types, which have other names and another order, and leave
 *  nothing out. Errors show values of these types. */

import { readDataFile } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, sortTree } from '@watchglass/go'
import { copyWritten, writtenMember } from '../decode/written-empties.ts'
import { asWritten } from '../raw-json.ts'

/** Name, name in the API, and type: `*` is a pointer, `[]` a list, `{}` a map. */
type Row = readonly [name: string, jsonName: string, type: string]

interface TypesFile {
  readonly types: Readonly<Record<string, readonly Row[]>>
}

function rowsOf(type: string): readonly Row[] | undefined {
  const { types } = readDataFile(import.meta.url, './internal-types.json') as TypesFile
  return Object.hasOwn(types, type) ? types[type] : undefined
}

/** A value of an API type as the internal type of the same name. */
export function internalValue(type: string, value: JsonValue | undefined): JsonValue {
  if (type.startsWith('[]')) {
    return Array.isArray(value) ? value.map(item => internalValue(type.slice(2), item)) : null
  }
  if (type.startsWith('{}')) return internalMap(type.slice(2), value)
  if (type === 'orbool' || type === 'orarray') return internalChoice(type, value)
  const isPointer = type.startsWith('*')
  const isAbsent = value === undefined || value === null
  if (isPointer && isAbsent) return null
  const bare = isPointer ? type.slice(1) : type
  const rows = rowsOf(bare)
  if (rows === undefined) {
    if (isAbsent) return zeroOf(bare)
    if (bare === 'raw') return asWritten(value)
    return bare === 'map' ? sortTree(value) : value
  }
  const object: JsonObject = value instanceof Map ? value : new Map()
  return bare === 'PodSpec' ? internalPodSpec(object, rows) : structOf(object, rows)
}

function internalMap(type: string, value: JsonValue | undefined): JsonValue {
  if (!(value instanceof Map)) return null
  const members = [...value].map(([name, member]): [string, JsonValue] => [
    name,
    internalValue(type, member),
  ])
  return new Map(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** A schema, or a boolean or a list instead of one. */
function internalChoice(type: 'orbool' | 'orarray', value: JsonValue | undefined): JsonValue {
  if (value === undefined || value === null) return null
  const schema = internalValue('*JSONSchemaProps', value instanceof Map ? value : null)
  if (type === 'orbool') {
    return new Map<string, JsonValue>([
      ['Allows', value !== false],
      ['Schema', schema],
    ])
  }
  return new Map<string, JsonValue>([
    ['Schema', schema],
    ['JSONSchemas', internalValue('[]JSONSchemaProps', value)],
  ])
}

function zeroOf(type: string): JsonValue {
  switch (type) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int':
    case 'intorstring':
      return new JsonNumber('0')
    case 'quantity':
      return '0'
    default:
      return null
  }
}

function structOf(object: JsonObject, rows: readonly Row[]): JsonObject {
  const struct: JsonObject = new Map()
  for (const [name, jsonName, type] of rows) {
    if (name !== '') struct.set(name, internalValue(type, writtenMember(object, jsonName)))
    else {
      // Members of embedded structs are listed here.
      for (const [inner, value] of internalValue(type, object) as JsonObject) {
        struct.set(inner, value)
      }
    }
  }
  return struct
}

/** In the internal type what a pod shares with its node belongs to the security context. */
const sharedWithNode = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers']

function internalPodSpec(spec: JsonObject, rows: readonly Row[]): JsonObject {
  const given = spec.get('securityContext')
  const security: JsonObject = given instanceof Map ? copyWritten(given) : new Map()
  for (const name of sharedWithNode) {
    const value = spec.get(name)
    if (value !== undefined) security.set(name, value)
  }
  return structOf(copyWritten(spec).set('securityContext', security), rows)
}
