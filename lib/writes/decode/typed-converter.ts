/** A tree as Go's converter of untyped objects makes a typed one of it, after strategic merge
 *  patches and applies. It is another one than the decoder of JSON: it has words of its own, stops
 *  at the first wrong value in the order of the type's fields, and wraps whole numbers that the
 *  type does not hold. Strict errors come sorted. Types of text that have a name in Go are texts
 *  here: only `UID` is told by its name. */

import { JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import type { MessageField, MessageType } from '@watchglass/codec'
import { isInteger } from '../ownership/sets/values.ts'
import { typedText } from './complete-tree.ts'
import { treeDocument } from './documents.ts'
import { DecodeError, type Decoded, decodeTyped, readSpecial } from './typed-decoder.ts'

/** Converts an object; throws `DecodeError`. */
export function convertTyped(value: JsonValue, type: MessageType): Decoded {
  const restored = restoreStruct(value, type)
  const decoded = decodeTyped({ ...treeDocument(restored), sourceOf: typedText }, type)
  return { ...decoded, strictErrors: decoded.strictErrors.toSorted() }
}

function restoreStruct(value: JsonValue, type: MessageType): JsonValue {
  if (!(value instanceof Map)) refuse(`cannot restore struct from: ${goKindOf(value)}`)
  const changed = new Map<string, JsonValue>()
  if (type.hasTypeMeta) {
    for (const name of ['kind', 'apiVersion']) restoreText(value.get(name) ?? null, 'string')
  }
  restoreFields(value, type, changed)
  return changed.size === 0 ? value : withMembers(value, changed)
}

function restoreFields(
  object: JsonObject,
  type: MessageType,
  changed: Map<string, JsonValue>,
): void {
  for (const field of type.fields) {
    if (field.isInline) {
      restoreFields(object, type.schema.messageType(field.type), changed)
      continue
    }
    const value = object.get(field.jsonName) ?? null
    if (value === null) continue
    const restored = restoreField(value, field, type)
    if (restored !== value) changed.set(field.jsonName, restored)
  }
}

function withMembers(object: JsonObject, changed: ReadonlyMap<string, JsonValue>): JsonObject {
  return new Map([...object].map(([name, value]) => [name, changed.get(name) ?? value]))
}

function restoreField(value: JsonValue, field: MessageField, type: MessageType): JsonValue {
  switch (field.container) {
    case 'single':
      return restoreOne(value, field, type)
    case 'list': {
      if (!Array.isArray(value)) refuse(`cannot restore slice from ${goKindOf(value)}`)
      const items = value.map(item => restoreOne(item, field, type))
      return items.every((item, i) => item === value[i]) ? value : items
    }
    case 'map': {
      if (!(value instanceof Map)) refuse(`cannot restore map from ${goKindOf(value)}`)
      const changed = new Map<string, JsonValue>()
      for (const [name, item] of value) {
        const restored = restoreOne(item, field, type)
        if (restored !== item) changed.set(name, restored)
      }
      return changed.size === 0 ? value : withMembers(value, changed)
    }
  }
}

function restoreOne(value: JsonValue, field: MessageField, { schema }: MessageType): JsonValue {
  if (value === null) return value
  const { type: name } = field
  if (name.includes('.')) {
    const type = schema.messageType(name)
    if (type.form === 'object') return restoreStruct(value, type)
    if (type.form === 'wrap' && !Array.isArray(value)) {
      refuse(`cannot restore slice from ${goKindOf(value)}`)
    }
    return value
  }
  switch (name) {
    case 'string':
      return restoreText(value, field.jsonName === 'uid' ? 'types.UID' : 'string')
    case 'bool':
      return typeof value === 'boolean' ? value : refuse('unrecognized type: bool')
    case 'int32':
      return restoreInteger(value, 32)
    case 'int64':
      return restoreInteger(value, 64)
    case 'float64':
      return value instanceof JsonNumber ? value : refuse('unrecognized type: float64')
    case 'bytes':
      if (typeof value !== 'string') refuse(`cannot restore slice from ${goKindOf(value)}`)
      readSpecial(name, value, 'error decoding from json: ')
      return value
    default:
      // Those with a decoder of their own.
      readSpecial(name, value, '')
      return value
  }
}

function restoreText(value: JsonValue, goType: string): JsonValue {
  if (value === null || typeof value === 'string') return value
  const isWhole = value instanceof JsonNumber && isInteger(value)
  return refuse(isWhole ? `cannot convert int64 to ${goType}` : 'unrecognized type: string')
}

function restoreInteger(value: JsonValue, bits: 32 | 64): JsonValue {
  if (!(value instanceof JsonNumber)) refuse(`unrecognized type: int${bits}`)
  const number = Number(value.source)
  const isWhole = isInteger(value)
  if (!isWhole && !Number.isInteger(number)) refuse(`cannot convert float64 to int${bits}`)
  const whole = isWhole ? BigInt(value.source) : wholeOf(number)
  const wrapped = String(BigInt.asIntN(bits, whole))
  return wrapped === value.source ? value : new JsonNumber(wrapped)
}

/** A float as a whole number of 64 bits: one that is out of range becomes the least of them. */
function wholeOf(number: number): bigint {
  const whole = BigInt(number)
  const least = -(2n ** 63n)
  return BigInt.asIntN(64, whole) === whole ? whole : least
}

/** The kind of a decoded value in Go. */
function goKindOf(value: JsonValue): string {
  if (value instanceof Map) return 'map'
  if (Array.isArray(value)) return 'slice'
  if (!(value instanceof JsonNumber)) return typeof value === 'boolean' ? 'bool' : 'string'
  return isInteger(value) ? 'int64' : 'float64'
}

function refuse(message: string): never {
  throw new DecodeError(message)
}
