/** The structs that expressions of mutating policies make: `Object{}`, an object or a part of
 *  one to be merged in, whose type is named for the path of the part, and `JSONPatch{}`, one
 *  operation of a patch. Nothing is known of the fields of an object. */

import type { Library } from '../declarations.ts'
import { CelType, dynType, stringType } from '../types.ts'
import { failure, noOverload } from '../values/errors.ts'
import {
  areEqual,
  CelList,
  CelMap,
  Double,
  Opaque,
  typeName,
  Uint,
  type Value,
} from '../values/values.ts'

export const operationName = 'JSONPatch'
export const objectName = 'Object'

/** A struct that an expression has made. */
export class StructValue extends Opaque {
  readonly typeName: string
  readonly fields: ReadonlyMap<string, Value>

  constructor(name: string, fields: ReadonlyMap<string, Value>) {
    super()
    this.typeName = name
    this.fields = fields
  }

  /** Only operations can be asked for what they have. */
  get(field: string): Value | undefined {
    if (this.typeName !== operationName) return undefined
    return this.fields.get(field) ?? (field === 'value' ? undefined : '')
  }

  has(field: string): boolean {
    const value = this.typeName === operationName ? this.fields.get(field) : undefined
    return value !== undefined && value !== ''
  }

  equals(other: Opaque): boolean {
    if (!(other instanceof StructValue) || other.fields.size !== this.fields.size) return false
    return [...this.fields].every(([name, value]) => {
      const theirs = other.fields.get(name)
      return theirs !== undefined && areEqual(value, theirs)
    })
  }
}

/** Any name is a field of an object. */
class AnyField extends Map<string, CelType> {
  override get(): CelType {
    return dynType
  }
}

const anyField = new AnyField()

const operation = new CelType(
  'struct',
  operationName,
  [],
  new Map([
    ['op', stringType],
    ['from', stringType],
    ['path', stringType],
    ['value', dynType],
  ]),
)

/** The type of a struct by its name; undefined if there is none. */
export function structNamed(name: string): CelType | undefined {
  if (name === operationName) return operation
  const isObject = name === objectName || name.startsWith(`${objectName}.`)
  return isObject ? new CelType('struct', name, [], anyField) : undefined
}

/** Makes a struct of its fields. */
export function makeStruct(name: string, fields: ReadonlyMap<string, Value>): Value {
  if (structNamed(name) === undefined) throw failure(`no such type: ${name}`)
  if (name === operationName) {
    for (const [field, value] of fields) {
      if (field === 'value' || typeof value === 'string') continue
      throw failure(`unexpected type ${goTypeOf(value)} for JSONPatchType '${field}' field`)
    }
  }
  return new StructValue(name, fields)
}

/** The type that a value has in cel-go. */
function goTypeOf(value: Value): string {
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' || typeof value === 'bigint') return 'int64'
  if (value instanceof Double) return 'float64'
  if (value instanceof Uint) return 'uint64'
  if (value instanceof Uint8Array) return '[]uint8'
  if (value instanceof CelList) return '[]ref.Val'
  if (value instanceof CelMap) return 'map[ref.Val]ref.Val'
  return value === null ? 'structpb.NullValue' : typeName(value)
}

export const patches: Library = {
  signatures: {
    'jsonpatch.escapeKey': ['string_jsonpatch_escapeKey_string: (string) string'],
  },
  implementations: {
    'jsonpatch.escapeKey': key => {
      if (typeof key !== 'string') throw noOverload()
      return key.replaceAll('~', '~0').replaceAll('/', '~1')
    },
  },
}
