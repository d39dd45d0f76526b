/** Typed objects in the form in which Go's encoder prints them: members in the order of the
 *  schema, without those that are empty and may be left out, and with the zero values of those
 *  that may not. */

import { goJsonString, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import type { MessageField, MessageType } from '@watchglass/codec'
import { RawObject } from './typed-decoder.ts'
import { emptiesOf, noteEmpty } from './written-empties.ts'

/** The object of a kind, in Go's order. What it has that the type does not have is left out. */
export function completeTree(object: JsonObject, type: MessageType): JsonObject {
  const complete: JsonObject = new Map()
  if (type.hasTypeMeta) {
    for (const name of ['kind', 'apiVersion']) {
      const value = object.get(name)
      if (value !== undefined && value !== '') complete.set(name, value)
    }
  }
  addFields(complete, object, type)
  return complete
}

function addFields(complete: JsonObject, object: JsonObject, type: MessageType): void {
  const empties = emptiesOf(object)
  for (const field of type.fields) {
    if (field.isInline) {
      addFields(complete, object, type.schema.messageType(field.type))
      continue
    }
    const { jsonName: name } = field
    const written = object.get(name) ?? empties?.get(name) ?? null
    const value = completeField(written, field, type)
    if (value !== undefined) complete.set(name, value)
    else if (isEmptied(written, field)) noteEmpty(complete, name, written)
  }
}

/** Texts are there or not only where Go has them as bytes. */
function isEmptied(written: JsonValue, { type }: MessageField): boolean {
  return Array.isArray(written) || written instanceof Map || (type === 'bytes' && written === '')
}

/** Undefined: it is left out. */
function completeField(
  value: JsonValue,
  field: MessageField,
  type: MessageType,
): JsonValue | undefined {
  const message = field.type.includes('.') ? type.schema.messageType(field.type) : undefined
  if (field.container !== 'single') return completeContainer(value, field, message)
  if (message !== undefined) return completeMessage(value, field, message)
  if (field.type === 'time' || field.type === 'microtime') {
    if (value !== null) return value
    return field.isOmittedWhenZero || field.isPointer ? nothing(field) : null
  }
  if (value === null) {
    if (field.isPointer || rawTypes.has(field.type)) return nothing(field)
    return field.isOmittedWhenEmpty && field.type !== 'quantity' && field.type !== 'intorstring'
      ? undefined
      : zeros[field.type]
  }
  const isRaw = rawTypes.has(field.type) && field.type !== 'bytes'
  if (field.isPointer || isRaw || !field.isOmittedWhenEmpty) return value
  return isZeroScalar(value) && field.type !== 'quantity' ? undefined : value
}

function completeMessage(
  value: JsonValue,
  field: MessageField,
  message: MessageType,
): JsonValue | undefined {
  if (message.form !== 'object') {
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
    return isEmpty && field.isOmittedWhenEmpty ? undefined : value
  }
  if (value === null && field.isPointer) return nothing(field)
  return completeTree(value instanceof Map ? value : new Map(), message)
}

function completeContainer(
  value: JsonValue,
  field: MessageField,
  message: MessageType | undefined,
): JsonValue | undefined {
  const isEmpty =
    value === null || (Array.isArray(value) ? value.length : (value as JsonObject).size) === 0
  // An absent list and an empty one differ before the object is stored: whoever writes an empty
  // list owns it.
  if (isEmpty) return field.isOmittedWhenEmpty ? undefined : value
  if (message?.form !== 'object') return value
  const complete = (item: JsonValue): JsonValue =>
    completeTree(item instanceof Map ? item : new Map(), message)
  if (Array.isArray(value)) return value.map(complete)
  return new Map([...(value as JsonObject)].map(([name, item]) => [name, complete(item)]))
}

const rawTypes = new Set(['fieldsv1', 'rawextension', 'json', 'any', 'bytes'])

const zeros: Readonly<Record<string, JsonValue>> = {
  string: '',
  bool: false,
  int32: new JsonNumber('0'),
  int64: new JsonNumber('0'),
  float64: new JsonNumber('0'),
  quantity: '0',
  intorstring: new JsonNumber('0'),
}

function nothing(field: MessageField): JsonValue | undefined {
  return field.isOmittedWhenEmpty || field.isOmittedWhenZero ? undefined : null
}

function isZeroScalar(value: JsonValue): boolean {
  return value === '' || value === false || (value instanceof JsonNumber && value.text === '0')
}

/** The JSON text of a tree, members in their order, raw JSON as it was. */
export function typedText(value: JsonValue): string {
  if (typeof value === 'string') return goJsonString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (value instanceof JsonNumber) return value.text
  if (value instanceof RawObject) return value.source
  if (Array.isArray(value)) return `[${value.map(typedText).join(',')}]`
  let text = ''
  for (const [name, item] of value) {
    text += `${text === '' ? '' : ','}${goJsonString(name)}:${typedText(item)}`
  }
  return `{${text}}`
}
