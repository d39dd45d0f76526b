/** Writes JSON values as protobuf messages: for each message type an encoder, made when it is first
 *  needed, that knows the names of its members and the order of its fields.
 *
 *  Go writes fields in ascending order; what is no pointer is always written, also when it is zero;
 *  what is a pointer, a list, a map or bytes is written when it is there (FORMAT.md, section 3). */

import type { MessageField, MessageType, Schema } from '../../schema/schema.ts'
import { giveUp, wireBytes, wireFixed64, wireVarint } from '@watchglass/base'
import { createMapEncoder } from './encode-maps.ts'
import {
  type EncodeValue,
  expectKind,
  isPresent,
  scalarEncoders,
  windowEncoders,
} from './encode-values.ts'
import { EncodeState } from './state.ts'
import { jsonArray, jsonFalse, jsonObject, jsonPlainText, jsonText, jsonTrue } from '@watchglass/go'
import { tagOf } from '../decode/source.ts'
import { maxDepth } from '../decode/state.ts'

/** The function that writes the fields of a message of this type from the object that a node is;
 *  none for node -1. */
export function encoderOf(type: MessageType): EncodeValue {
  let encoder = encoders.get(type)
  if (encoder === undefined) {
    encoder = type.form === 'object' ? createObjectEncoder(type) : createFormEncoder(type)
    encoders.set(type, encoder)
  }
  return encoder
}

/** The message of this type that a JSON value says. Used for values of our own, when functions are
 *  compiled. */
export function encodeValue(type: MessageType, value: unknown): Uint8Array {
  const state = new EncodeState()
  const json = Buffer.from(JSON.stringify(value))
  state.tape.parse(json, 0, json.length)
  encoderOf(type)(state, 0)
  return state.copy()
}

const encoders = new Map<MessageType, EncodeValue>()

/** Writes the fields of a message from the slots that begin at `base`. */
type EncodeFields = (state: EncodeState, base: number) => void

/** Writes one field, its tag included, from the node in a slot. */
type EncodeField = EncodeValue

/** A member of the JSON object, and the slot where its node is put. Members of inline messages are
 *  among them. */
interface Member {
  readonly name: Uint8Array
  /** A second occurrence is read into the first by Go, which is more than replacing it. */
  readonly isMerged: boolean
}

function createObjectEncoder(type: MessageType): EncodeValue {
  const members: Member[] = []
  // The type's own name and version are no fields of a message inside another.
  if (type.hasTypeMeta) members.push(memberOf('kind', false), memberOf('apiVersion', false))
  const encodeFields = createFieldsEncoder(type, members)
  return (state, node) => {
    if (++state.depth > maxDepth) giveUp('JSON is nested too deep')
    const base = state.takeSlots(members.length)
    if (isPresent(state, node)) findMembers(state, node, { type, members, base })
    encodeFields(state, base)
    state.slotCount = base
    state.depth--
  }
}

/** Adds the type's members to `members`, and returns what writes its fields. */
function createFieldsEncoder(type: MessageType, members: Member[]): EncodeFields {
  const parts: { readonly number: number; readonly encode: EncodeFields }[] = []
  for (const field of type.fields) {
    if (field.isInline) {
      const encodeInner = createFieldsEncoder(type.schema.messageType(field.type), members)
      const tag = tagOf(field.number, wireBytes)
      parts.push({
        number: field.number,
        encode: (state, base) => {
          state.writeVarint(tag)
          const start = state.begin(smallMessage)
          encodeInner(state, base)
          state.finish(start, smallMessage)
        },
      })
      continue
    }
    const slot = members.length
    members.push(memberOf(field.jsonName, field.container !== 'single' || field.type.includes('.')))
    const encodeField = createFieldEncoder(field, type.schema)
    parts.push({
      number: field.number,
      encode: (state, base) => encodeField(state, state.slots[base + slot] as number),
    })
  }
  parts.sort((a, b) => a.number - b.number)
  return (state, base) => {
    for (const { encode } of parts) encode(state, base)
  }
}

function memberOf(name: string, isMerged: boolean): Member {
  return { name: Buffer.from(name), isMerged }
}

/** Lengths below 128 take one byte: most messages are as small, and the others are moved. */
const smallMessage = 100

interface Target {
  readonly type: MessageType
  readonly members: readonly Member[]
  readonly base: number
}

/** Puts the nodes of an object's members into the slots. Members mostly come in the schema's order,
 *  so the search for each begins behind the one before. */
function findMembers(state: EncodeState, node: number, { type, members, base }: Target): void {
  const { tape } = state
  expectKind(state, node, jsonObject)
  const end = tape.next(node)
  let expected = 0
  for (let key = node + 1; key < end; key = tape.next(key + 1)) {
    let found = -1
    for (let i = 0; i < members.length && found === -1; i++) {
      const candidate = expected + i < members.length ? expected + i : expected + i - members.length
      if (isNamed(state, key, (members[candidate] as Member).name)) found = candidate
    }
    if (found === -1) giveUp(`${type.name} has no field "${nameForPeople(state, key)}"`)
    if (state.slots[base + found] !== -1 && members[found]?.isMerged === true) {
      giveUp(`${type.name} repeats the member "${nameForPeople(state, key)}"`)
    }
    state.slots[base + found] = key + 1
    expected = found + 1
  }
}

function isNamed({ tape }: EncodeState, key: number, name: Uint8Array): boolean {
  const start = tape.start(key)
  if (tape.end(key) - start !== name.length || tape.kind(key) !== jsonPlainText) return false
  const { input } = tape
  for (let i = 0; i < name.length; i++) {
    if (input[start + i] !== name[i]) return false
  }
  return true
}

function nameForPeople({ tape }: EncodeState, key: number): string {
  const end = Math.min(tape.end(key), tape.start(key) + 60)
  let name = ''
  for (let at = tape.start(key); at < end; at++) {
    const byte = tape.input[at] as number
    name += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '?'
  }
  return name
}

function createFieldEncoder(field: MessageField, schema: Schema): EncodeField {
  switch (field.container) {
    case 'map':
      return createMapEncoder(tagOf(field.number, wireBytes), valueEncoderOf(field.type, schema))
    case 'list':
      return createListEncoder(field, schema)
    case 'single':
      return createSingleEncoder(field, schema)
  }
}

/** Lists are written element by element, never packed. */
function createListEncoder(field: MessageField, schema: Schema): EncodeField {
  const encodeElement = createTaggedEncoder(field, schema)
  return (state, node) => {
    if (!isPresent(state, node)) return
    expectKind(state, node, jsonArray)
    const { tape } = state
    const end = tape.next(node)
    for (let element = node + 1; element < end; element = tape.next(element)) {
      encodeElement(state, element)
    }
  }
}

function createSingleEncoder(field: MessageField, schema: Schema): EncodeField {
  const encode = createTaggedEncoder(field, schema)
  const isWrap = field.type.includes('.') && schema.messageType(field.type).form === 'wrap'
  if (!field.isPointer && field.type !== 'bytes' && !isWrap) return encode
  return (state, node) => {
    if (isPresent(state, node)) encode(state, node)
  }
}

/** Writes a value with its tag and, where it has one, its length. */
function createTaggedEncoder({ number, type }: MessageField, schema: Schema): EncodeField {
  const scalar = scalarEncoders[type]
  if (scalar !== undefined) {
    const tag = tagOf(number, type === 'float64' ? wireFixed64 : wireVarint)
    return (state, node) => {
      state.writeVarint(tag)
      scalar(state, node)
    }
  }
  const tag = tagOf(number, wireBytes)
  const encode = valueEncoderOf(type, schema)
  return (state, node) => {
    state.writeVarint(tag)
    const { tape } = state
    const size = node === -1 ? 0 : tape.end(node) - tape.start(node)
    const guess = type === 'string' ? size : Math.floor(size * 0.6)
    const start = state.begin(guess)
    encode(state, node)
    state.finish(start, guess)
  }
}

/** Writes the bytes of a length-delimited value. Types may contain themselves, so the encoder is
 *  looked up when it is needed. */
function valueEncoderOf(type: string, schema: Schema): EncodeValue {
  const known = windowEncoders[type]
  if (known !== undefined) return known
  let encode: EncodeValue | undefined
  return (state, node) => {
    encode ??= encoderOf(schema.messageType(type))
    encode(state, node)
  }
}

/** Writes a message whose JSON form is the value of one of its fields. */
function createFormEncoder(type: MessageType): EncodeValue {
  const encoderNamed = (name: string): EncodeField => {
    const field = type.fields.find(({ jsonName }) => jsonName === name) ?? type.fields[0]
    if (field === undefined) return giveUp(`${type.name} has no fields`)
    return createFieldEncoder(field, type.schema)
  }
  if (type.form === 'wrap') return encoderNamed('items')
  const encodeSchema = encoderNamed('schema')
  if (type.form === 'orbool') {
    return (state, node) => {
      const kind = isPresent(state, node) ? state.tape.kind(node) : jsonFalse
      if (kind !== jsonTrue && kind !== jsonFalse && kind !== jsonObject) {
        giveUp(`${type.name} is neither true nor false nor an object`)
      }
      state.appendByte(tagOf(1, wireVarint))
      state.appendByte(kind === jsonFalse ? 0 : 1)
      if (kind === jsonObject) encodeSchema(state, node)
    }
  }
  const encodeList = encoderNamed(type.form === 'orarray' ? 'jSONSchemas' : 'property')
  return (state, node) => {
    if (!isPresent(state, node)) return
    if (state.tape.kind(node) === jsonArray) encodeList(state, node)
    else encodeSchema(state, node)
  }
}

/** The text of a member of the root object, for its name and version; empty if it is not there. */
export function rootText(state: EncodeState, name: string): string {
  const { tape } = state
  const wanted = Buffer.from(name)
  let text = ''
  for (let key = 1; key < tape.next(0); key = tape.next(key + 1)) {
    const kind = tape.kind(key + 1)
    if (!isNamed(state, key, wanted)) continue
    if (kind !== jsonPlainText && kind !== jsonText) giveUp(`${name} is not a text`)
    text = nameForPeople(state, key + 1)
  }
  return text
}
