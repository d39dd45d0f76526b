/** CBOR as kube-apiserver writes it, from the JSON of the same object.
 *
 *  A document is tagged as CBOR (55799). Texts and names are byte strings, as in Go's strings any
 *  bytes may stand. Names are sorted by their encoded bytes, numbers and lengths are as short as
 *  they can be. Base64 in JSON that stands for bytes is bytes again, in tag 22 (`base64 on the way
 *  to JSON`): only the schema can tell, so it is passed in. The upstream's own order of names is
 *  random; clients must take any. */

import { appendText, ByteWriter, NotExact } from '@watchglass/base'
import { JsonNumber, type JsonValue, parseTree } from '@watchglass/go'
import type { MessageField, MessageType } from '../schema/schema.ts'

/** The tag that says `this is CBOR`: 55799. */
export const selfDescribed: Uint8Array = Uint8Array.of(0xd9, 0xd9, 0xf7)

export const cborNull: Uint8Array = Uint8Array.of(0xf6)

/** The type behind a JSON value: a message of the schema, bytes, a map, or nothing known. A list
 *  has the type of its elements. */
export type CborType = MessageType | 'bytes' | CborMapType | undefined

/** An object whose members all are of one type, but for those with one of their own. */
export interface CborMapType {
  readonly everyMember: CborType
  readonly members?: Readonly<Record<string, CborType>> | undefined
}

/** The CBOR of a JSON document, which is of `type`; tagged, or bare for a place inside another. */
export function cborFromJson(
  json: Uint8Array,
  type: CborType,
  form: 'tagged' | 'bare',
): Uint8Array | NotExact {
  const tree = parseTree(json, 0, json.length)
  if (tree === undefined) return new NotExact('value is not JSON, or nested too deep')
  const out = new ByteWriter(json.length)
  if (form === 'tagged') out.append(selfDescribed)
  writeTree(out, tree, type)
  return out.copy()
}

/** The head of a map or a list with `count` entries. */
export function cborHead(container: 'map' | 'list', count: number): Uint8Array {
  const out = new ByteWriter(16)
  writeHead(out, container === 'map' ? majorMap : majorList, BigInt(count))
  return out.copy()
}

/** A text, as a byte string. */
export function cborText(text: string): Uint8Array {
  const out = new ByteWriter(text.length + 16)
  writeText(out, text)
  return out.copy()
}

const majorUnsigned = 0x00
const majorNegative = 0x20
const majorBytes = 0x40
const majorList = 0x80
const majorMap = 0xa0
const tagBase64 = 0xd6

const words: Readonly<Record<string, number>> = { false: 0xf4, true: 0xf5, null: 0xf6 }

function writeTree(out: ByteWriter, tree: JsonValue, type: CborType): void {
  if (typeof tree === 'string') {
    if (type === 'bytes') writeBytes(out, tree)
    else writeText(out, tree)
  } else if (tree === null || typeof tree === 'boolean') {
    out.appendByte(words[String(tree)] as number)
  } else if (tree instanceof JsonNumber) {
    writeNumber(out, tree.source)
  } else if (tree instanceof Map) {
    const entries = [...tree].map(([name, value]) => ({ name: Buffer.from(name), value }))
    entries.sort((a, b) => a.name.length - b.name.length || a.name.compare(b.name))
    writeHead(out, majorMap, BigInt(entries.length))
    for (const { name, value } of entries) {
      writeHead(out, majorBytes, BigInt(name.length))
      out.append(name)
      writeTree(out, value, typeOfMember(type, name.toString()))
    }
  } else {
    writeHead(out, majorList, BigInt(tree.length))
    for (const item of tree) writeTree(out, item, type)
  }
}

function typeOfMember(type: CborType, name: string): CborType {
  if (type === undefined || type === 'bytes') return undefined
  if ('everyMember' in type) return type.members?.[name] ?? type.everyMember
  const field = fieldNamed(type, name)
  if (field === undefined) return undefined
  const value = field.type === 'bytes' ? 'bytes' : type.schema.findMessageType(field.type)
  return field.container === 'map' ? { everyMember: value } : value
}

function fieldNamed(type: MessageType, name: string): MessageField | undefined {
  for (const field of type.fields) {
    if (field.jsonName === name) return field
    const inner = field.isInline ? type.schema.findMessageType(field.type) : undefined
    const found = inner === undefined ? undefined : fieldNamed(inner, name)
    if (found !== undefined) return found
  }
  return undefined
}

function writeText(out: ByteWriter, text: string): void {
  writeHead(out, majorBytes, BigInt(Buffer.byteLength(text)))
  appendText(out, text)
}

function writeBytes(out: ByteWriter, base64: string): void {
  const bytes = Buffer.from(base64, 'base64')
  out.appendByte(tagBase64)
  writeHead(out, majorBytes, BigInt(bytes.length))
  out.append(bytes)
}

/** Integers of 64 bits stay integers; all others are floats of the smallest width that holds
 *  them. */
function writeNumber(out: ByteWriter, text: string): void {
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text)
    if (value >= -(1n << 63n) && value < 1n << 63n) {
      if (value < 0n) writeHead(out, majorNegative, -1n - value)
      else writeHead(out, majorUnsigned, value)
      return
    }
  }
  writeFloat(out, Number(text))
}

function writeFloat(out: ByteWriter, value: number): void {
  const bytes = Buffer.alloc(8)
  if (Math.fround(value) !== value) {
    bytes.writeDoubleBE(value)
    out.appendByte(0xfb)
    out.append(bytes)
    return
  }
  bytes.writeFloatBE(value)
  const half = halfFromFloatBits(bytes.readUInt32BE(0))
  if (half === undefined) {
    out.appendByte(0xfa)
    out.append(bytes, 0, 4)
  } else {
    out.appendByte(0xf9)
    out.appendByte(half >>> 8)
    out.appendByte(half & 0xff)
  }
}

/** The 16 bits of the same number in half precision, if it has one. */
function halfFromFloatBits(bits: number): number | undefined {
  const sign = (bits >>> 16) & 0x8000
  const exponent = (bits >>> 23) & 0xff
  const fraction = bits & 0x7f_ffff
  if (exponent === 0 && fraction === 0) return sign
  const unbiased = exponent - 127
  if (unbiased >= -14 && unbiased <= 15 && (fraction & 0x1fff) === 0) {
    return sign | ((unbiased + 15) << 10) | (fraction >>> 13)
  }
  if (unbiased < -24 || unbiased >= -14) return undefined
  const shift = -unbiased - 1
  const whole = fraction | 0x80_0000
  return (whole & ((1 << shift) - 1)) === 0 ? sign | (whole >>> shift) : undefined
}

function writeHead(out: ByteWriter, major: number, value: bigint): void {
  if (value < 24n) {
    out.appendByte(major | Number(value))
    return
  }
  const size = value < 0x100n ? 1 : value < 0x1_0000n ? 2 : value < 0x1_0000_0000n ? 4 : 8
  out.appendByte(major | (24 + Math.log2(size)))
  for (let shift = (size - 1) * 8; shift >= 0; shift -= 8) {
    out.appendByte(Number((value >> BigInt(shift)) & 0xffn))
  }
}
