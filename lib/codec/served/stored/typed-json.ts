/** A built-in object that is stored as JSON (`--storage-media-type=application/json`, or written by
 *  hand), as Go's types read it: members that the type does not have are dropped, raw JSON keeps
 *  its text. What Go reads in a way that protobuf cannot hold, or refuses, is not exact:
 *
 *  - an empty list or map that is always written: Go writes it again as `[]`, and protobuf reads as
 *    `null`
 *  - a member that stands there twice: Go merges some of them
 *  - a number that is not whole where a whole one belongs, and a null in a list */

import {
  goJsonString,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  type ParsedDocument,
} from '@watchglass/go'
import { giveUp } from '@watchglass/base'
import { type MessageField, type MessageType, perSchema } from '../../schema/schema.ts'

/** The JSON text that stands for itself: raw JSON inside an object. */
const rawTypes = new Set(['fieldsv1', 'rawextension', 'json'])
const wholeTypes = new Set(['int32', 'int64', 'intorstring'])

/** Raw JSON in a tree: a string that no member can have by chance, since its text is looked up by
 *  identity. */
export class RawTexts {
  readonly #texts = new Map<JsonValue, string>()
  readonly #document: ParsedDocument

  constructor(document: ParsedDocument) {
    this.#document = document
  }

  /** Keeps the text of a value that is written as it was. */
  keep(value: JsonValue): void {
    if (!(value instanceof Map) && !Array.isArray(value)) giveUp('raw JSON is not an object')
    this.#texts.set(value, this.#document.sourceOf(value))
  }

  /** The JSON text of the tree, members in their order. */
  textOf(value: JsonValue): string {
    const raw = typeof value === 'object' && value !== null ? this.#texts.get(value) : undefined
    if (raw !== undefined) return raw
    if (typeof value === 'string') return goJsonString(value)
    if (value === null || typeof value === 'boolean') return String(value)
    if (value instanceof JsonNumber) return value.source
    if (Array.isArray(value)) return `[${value.map(item => this.textOf(item)).join(',')}]`
    const members = [...value].map(([name, item]) => `${goJsonString(name)}:${this.textOf(item)}`)
    return `{${members.join(',')}}`
  }
}

/** Drops what the type does not have, at any depth, and notes raw JSON in `raw`. Gives up on what
 *  is not exact. */
export function pruneToType(object: JsonObject, type: MessageType, raw: RawTexts): void {
  const fields = membersOf(type)
  for (const [name, value] of object) {
    const field = fields.get(name)
    if (field !== undefined) checkMember(field, type, value, raw)
    else if (!type.hasTypeMeta || (name !== 'kind' && name !== 'apiVersion')) object.delete(name)
  }
}

const membersCache = perSchema(() => new Map<string, ReadonlyMap<string, MessageField>>())

/** The fields of a message by the names of its members, with those of inline messages. */
export function membersOf(type: MessageType): ReadonlyMap<string, MessageField> {
  const known = membersCache(type.schema)
  let members = known.get(type.name)
  if (members === undefined) {
    members = new Map(
      type.fields.flatMap(field =>
        field.isInline
          ? [...membersOf(type.schema.messageType(field.type))]
          : [[field.jsonName, field] as const],
      ),
    )
    known.set(type.name, members)
  }
  return members
}

function checkMember(
  field: MessageField,
  type: MessageType,
  value: JsonValue,
  raw: RawTexts,
): void {
  if (value === null) return
  const what = `${type.name}.${field.jsonName}`
  if (isEmpty(value) && !field.isOmittedWhenEmpty) {
    if (field.container !== 'single' || field.type === 'bytes') {
      giveUp(`${what} is empty, which is not the same as absent`)
    }
  }
  for (const item of itemsIn(field, value, what)) checkValue(field, type, item, raw)
}

/** The values in a list or a map, or the one. */
function itemsIn(field: MessageField, value: JsonValue, what: string): readonly JsonValue[] {
  if (field.container === 'single') return [value]
  const isList = field.container === 'list'
  if (isList ? !Array.isArray(value) : !(value instanceof Map)) {
    return giveUp(`${what} is not a ${field.container}`)
  }
  const items = Array.isArray(value) ? value : [...(value as JsonObject).values()]
  // A null in a map of bytes is no bytes; elsewhere Go makes a zero value of it.
  if (field.type !== 'bytes' && items.includes(null)) giveUp(`${what} has a null in it`)
  return items
}

function checkValue(field: MessageField, type: MessageType, value: JsonValue, raw: RawTexts): void {
  if (value === null) return
  if (rawTypes.has(field.type)) {
    raw.keep(value)
    return
  }
  if (value instanceof JsonNumber && wholeTypes.has(field.type) && !/^-?\d+$/.test(value.source)) {
    giveUp(`${type.name}.${field.jsonName} is not a whole number`)
  }
  if (!field.type.includes('.')) return
  const message = type.schema.messageType(field.type)
  if (message.form !== 'object') {
    if (isEmpty(value)) giveUp(`${type.name}.${field.jsonName} is empty`)
    if (message.form !== 'wrap') giveUp(`${type.name}.${field.jsonName} has a form of its own`)
    return
  }
  if (!(value instanceof Map)) giveUp(`${type.name}.${field.jsonName} is not an object`)
  pruneToType(value, message, raw)
}

function isEmpty(value: JsonValue): boolean {
  if (value instanceof Map) return value.size === 0
  return value === '' || (Array.isArray(value) && value.length === 0)
}
