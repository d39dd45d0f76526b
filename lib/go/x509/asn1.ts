/** Values of ASN.1 read by what they have to be: Go's asn1.Unmarshal, with its words for what is
 *  wrong. */

import { isUtf8 } from 'node:buffer'
import { type DerHead, isShortest, readBase128, readHead, structure, syntax } from './der.ts'

/** A type of values; its name is that of Go, which messages have. */
export type Shape =
  | { readonly type: 'integer' | 'oid' | 'bits' | 'boolean' | 'octets'; readonly name: string }
  /** Any value, as bytes; any value that is checked. */
  | { readonly type: 'raw' | 'any'; readonly name: string }
  | { readonly type: 'struct'; readonly name: string; readonly fields: readonly Field[] }
  | { readonly type: 'list' | 'set'; readonly name: string; readonly of: Shape }

export interface Field {
  readonly shape: Shape
  readonly isOptional?: boolean
  /** Number of the tag that it has instead of its own. */
  readonly tag?: number
}

const noParts: readonly undefined[] = []

/** A value that was read: its place in the bytes, as a list may have very many. */
export class Asn1Value {
  readonly #bytes: Buffer
  readonly #from: number
  readonly #at: number
  readonly #end: number
  readonly #head: DerHead
  /** Fields, of which an optional one may be left out, or items. */
  parts: readonly (Asn1Value | undefined)[] = noParts

  constructor(bytes: Buffer, from: number, head: DerHead) {
    this.#bytes = bytes
    this.#from = from
    this.#head = head
    this.#at = head.at
    this.#end = head.at + head.length
  }

  get tag(): number {
    return this.#head.tag
  }

  get isUniversal(): boolean {
    return this.#head.class === 0 && !this.#head.isCompound
  }

  get content(): Buffer {
    return this.#bytes.subarray(this.#at, this.#end)
  }

  /** With its tag and length. */
  get full(): Buffer {
    return this.#bytes.subarray(this.#from, this.#end)
  }

  /** True for a structure that begins with these bytes. */
  beginsWith(bytes: Buffer): boolean {
    const { class: group, isCompound, tag, length } = this.#head
    const isStruct = group === 0 && isCompound && tag === tags.struct
    if (!isStruct || length < bytes.length) return false
    return this.#bytes.compare(bytes, 0, bytes.length, this.#at, this.#at + bytes.length) === 0
  }
}

/** Bytes that are not what they have to be. */
export class Asn1Error extends Error {}

/** The value that the bytes are; what is behind it is left alone if it may be. Throws
 *  `Asn1Error`. */
export function readAsn1(bytes: Buffer, shape: Shape): { value: Asn1Value; end: number } {
  const { value, end } = readField(bytes, 0, { shape })
  return { value: value as Asn1Value, end }
}

export const integer: Shape = { type: 'integer', name: 'int' }
export const oid: Shape = { type: 'oid', name: 'ObjectIdentifier' }
export const bits: Shape = { type: 'bits', name: 'BitString' }
export const raw: Shape = { type: 'raw', name: 'RawValue' }
export const anyValue: Shape = { type: 'any', name: '' }
export const boolean: Shape = { type: 'boolean', name: 'bool' }
export const octets: Shape = { type: 'octets', name: '' }

const tags = {
  boolean: 1,
  integer: 2,
  bits: 3,
  octets: 4,
  oid: 6,
  struct: 16,
  list: 16,
  set: 17,
  raw: -1,
  any: -1,
} as const

interface Read {
  readonly value: Asn1Value | undefined
  readonly end: number
}

function readField(bytes: Buffer, from: number, field: Field): Read {
  const { shape, tag, isOptional = false } = field
  if (from === bytes.length) {
    if (isOptional) return { value: undefined, end: from }
    throw new Asn1Error(syntax('sequence truncated'))
  }
  const head = readHead(bytes, from)
  if (typeof head === 'string') throw new Asn1Error(head)
  const isAny = shape.type === 'raw' || shape.type === 'any'
  const expected = tag ?? tags[shape.type]
  const isOther =
    (!isAny || tag !== undefined) &&
    (head.class !== (tag === undefined ? 0 : 2) || head.tag !== expected)
  if (isOther || (!isAny && head.isCompound !== isCompound(shape))) {
    if (isOptional) return { value: undefined, end: from }
    const given = `{class:${head.class} tag:${head.tag} length:${head.length} isCompound:${head.isCompound}}`
    throw new Asn1Error(
      structure(
        `tags don't match (${expected} vs ${given}) ${parametersOf(field)} ${shape.name} @${head.at}`,
      ),
    )
  }
  const end = head.at + head.length
  if (end > bytes.length) throw new Asn1Error(syntax('data truncated'))
  const value = new Asn1Value(bytes, from, head)
  value.parts = partsOf(shape, value)
  return { value, end }
}

function isCompound(shape: Shape): boolean {
  return shape.type === 'struct' || shape.type === 'list' || shape.type === 'set'
}

/** As Go prints its struct. Of a pointer nobody knows more than that it is there. */
function parametersOf({ isOptional = false, tag }: Field): string {
  const pointer = tag === undefined ? '<nil>' : '0xc000000000'
  return `{optional:${isOptional} explicit:false application:false private:false defaultValue:<nil> tag:${pointer} stringType:0 timeType:0 set:false omitEmpty:false}`
}

function partsOf(shape: Shape, value: Asn1Value): readonly (Asn1Value | undefined)[] {
  switch (shape.type) {
    case 'struct': {
      const { content } = value
      let at = 0
      return shape.fields.map(field => {
        const read = readField(content, at, field)
        at = read.end
        return read.value
      })
    }
    case 'list':
    case 'set':
      return itemsOf(value.content, shape.of)
    case 'any':
      if (value.isUniversal) checkAny(value)
      return noParts
    case 'raw':
    case 'octets':
      return noParts
    case 'integer':
    case 'oid':
    case 'bits':
    case 'boolean':
      checks[shape.type](value.content)
      return noParts
  }
}

/** All items are looked at before what is in them is read. */
function itemsOf(content: Buffer, of: Shape): readonly Asn1Value[] {
  const items: Asn1Value[] = []
  for (let at = 0; at < content.length;) {
    const head = readHead(content, at)
    if (typeof head === 'string') throw new Asn1Error(head)
    const isRight = head.class === 0 && head.tag === tags[of.type]
    if (of.type !== 'raw' && !(isRight && head.isCompound === isCompound(of))) {
      throw new Asn1Error(structure('sequence tag mismatch'))
    }
    items.push(new Asn1Value(content, at, head))
    at = head.at + head.length
    if (at > content.length) throw new Asn1Error(syntax('truncated sequence'))
  }
  for (const item of items) item.parts = partsOf(of, item)
  return items
}

const checks = {
  boolean: (bytes: Buffer): void => {
    if (bytes.length !== 1 || (bytes[0] !== 0 && bytes[0] !== 0xff)) {
      throw new Asn1Error(syntax('invalid boolean'))
    }
  },
  integer: (bytes: Buffer): void => {
    if (bytes.length === 0) throw new Asn1Error(structure('empty integer'))
    if (!isShortest(bytes)) throw new Asn1Error(structure('integer not minimally-encoded'))
    if (bytes.length > 8) throw new Asn1Error(structure('integer too large'))
  },
  bits: (bytes: Buffer): void => {
    const [padding = 0] = bytes
    if (bytes.length === 0) throw new Asn1Error(syntax('zero length BIT STRING'))
    const isTooMuch = padding > 7 || (bytes.length === 1 && padding > 0)
    if (isTooMuch || ((bytes.at(-1) ?? 0) & ((1 << padding) - 1)) !== 0) {
      throw new Asn1Error(syntax('invalid padding bits in BIT STRING'))
    }
  },
  oid: (bytes: Buffer): void => {
    const problem = oidProblem(bytes)
    if (problem !== undefined) throw new Asn1Error(problem)
  },
}

/** The complaint about the numbers of an object identifier. */
export function oidProblem(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return syntax('zero length OBJECT IDENTIFIER')
  for (let at = 0; at < bytes.length;) {
    const number = readBase128(bytes, at)
    if (typeof number === 'string') return number
    ;[, at] = number
  }
  return undefined
}

const printable = /^[a-zA-Z0-9'()+,\-./ :=?*&]*$/

/** Texts of a universal type must be of their alphabets. Times are not looked into. */
function checkAny({ tag, content }: Asn1Value): void {
  const latin = content.toString('latin1')
  if (tag === tags.boolean) checks.boolean(content)
  else if (tag === tags.integer) checks.integer(content)
  else if (tag === tags.bits) checks.bits(content)
  else if (tag === tags.oid) checks.oid(content)
  else if (tag === 18 && !/^[0-9 ]*$/.test(latin)) {
    throw new Asn1Error(syntax('NumericString contains invalid character'))
  } else if (tag === 19 && !printable.test(latin)) {
    throw new Asn1Error(syntax('PrintableString contains invalid character'))
  } else if (tag === 22 && content.some(byte => byte >= 0x80)) {
    throw new Asn1Error(syntax('IA5String contains invalid character'))
  } else if (tag === 12 && !isUtf8(content)) throw new Asn1Error('asn1: invalid UTF-8 string')
  else if (tag === 30 && bmpText(content) === undefined) throw new Asn1Error('invalid BMPString')
}

/** The text that a checked value is; undefined if it is none. */
export function textOfValue({ tag, isUniversal, content }: Asn1Value): string | undefined {
  if (!isUniversal) return undefined
  if (tag === 12 || tag === 18 || tag === 19 || tag === 22) return content.toString()
  if (tag === 20) return content.toString('latin1')
  return tag === 30 ? bmpText(content) : undefined
}

function bmpText(bytes: Buffer): string | undefined {
  if (bytes.length % 2 !== 0) return undefined
  const text = Buffer.from(bytes).swap16().toString('utf16le').replace(/\0$/, '')
  return /[\ufffe\uffff\ufdd0-\ufdef\ud800-\udfff]/.test(text) ? undefined : text
}

/** The numbers of an object identifier: `2.5.4.10`. */
export function oidText(content: Buffer): string {
  const numbers: number[] = []
  for (let at = 0; at < content.length;) {
    const read = readBase128(content, at)
    if (typeof read === 'string') break
    const [number] = read
    // The first two are in one.
    const top = Math.min(2, Math.floor(number / 40))
    if (numbers.length > 0) numbers.push(number)
    else numbers.push(top, number - 40 * top)
    ;[, at] = read
  }
  return numbers.join('.')
}

/** The bytes of a string of bits, with what is too little for the last byte at the beginning. */
export function alignedBits(content: Buffer): Buffer {
  const [padding = 0] = content
  const bytes = content.subarray(1)
  if (padding === 0) return bytes
  return Buffer.from(
    bytes.map((byte, i) => (byte >> padding) | ((bytes[i - 1] ?? 0) << (8 - padding))),
  )
}
