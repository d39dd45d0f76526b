/** JSON text as a tree of values, and the tree as text again in the form that Go writes for maps: for objects that the API server
 *  would change on read, and for what YAML, CBOR and columns are made from. Numbers keep their text, objects are `Map`s, so that
 *  no key is special and members keep their order. */

import { canonicalNumber } from '../../go/json-number.ts'
import { goJsonString } from '../../go/text.ts'
import { decodeString, stringEnd } from './strings.ts'
import { textFromBytes } from '../text.ts'

export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject

export type JsonObject = Map<string, JsonValue>

/** A number by its text, as integers go beyond what JavaScript's numbers hold. */
export class JsonNumber {
  /** As Go writes it. */
  readonly text: string
  /** As it was written: to YAML and CBOR, `1e6` and `1000000` are two kinds of numbers. */
  readonly source: string

  constructor(text: string, source: string = text) {
    this.text = text
    this.source = source
  }
}

/** Nesting beyond this is refused. Go refuses more than 10,000; no real object comes near either. */
const treeMaxDepth = 500

/** The value that is all of `bytes[start..end)`, white space aside, as Go decodes it: the last of equal keys wins, and invalid
 *  UTF-8 is replaced. Undefined if it is malformed, too deep, or has a number that Go refuses. */
export function parseTree(bytes: Uint8Array, start: number, end: number): JsonValue | undefined {
  return new TreeParser(bytes, start, end).document()
}

/** A document, and what a tree of values does not say of it. */
export interface ParsedDocument {
  readonly value: JsonValue
  /** The text of an object or a list in it, as it was written. */
  readonly sourceOf: (container: JsonObject | JsonValue[]) => string
  /** A member stands in an object twice. */
  readonly hasRepeatedMembers: boolean
  /** All members of an object in their order, those that a later one replaces too. */
  readonly membersOf: (object: JsonObject) => Iterable<readonly [name: string, value: JsonValue]>
}

/** The same as `parseTree`, with more to ask. */
export function parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
): ParsedDocument | undefined {
  const windows = new Map<JsonValue, readonly [start: number, end: number]>()
  const parser = new TreeParser(bytes, start, end, windows)
  const value = parser.document()
  if (value === undefined) return undefined
  return {
    value,
    sourceOf: container => {
      const [from, to] = windows.get(container) ?? [0, 0]
      return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
    },
    hasRepeatedMembers: parser.repeated.size > 0,
    membersOf: object => parser.repeated.get(object) ?? object,
  }
}

/** The text that Go writes for the value: keys sorted by their UTF-8 bytes, no white space, HTML escaped. */
export function textFromTree(value: JsonValue): string {
  return writeTree(value, true)
}

/** The same with the members of objects in their own order. */
export function textInOrder(value: JsonValue): string {
  return writeTree(value, false)
}

function writeTree(value: JsonValue, isSorted: boolean): string {
  if (typeof value === 'string') return goJsonString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (value instanceof JsonNumber) return value.text
  // Pieces are put together once, when the whole text is used: joining them at each level would copy them as often.
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += (text === '' ? '' : ',') + writeTree(item, isSorted)
    return `[${text}]`
  }
  for (const key of isSorted ? sortedKeys(value) : value.keys()) {
    const member = writeTree(value.get(key) as JsonValue, isSorted)
    text += `${text === '' ? '' : ','}${goJsonString(key)}:${member}`
  }
  return `{${text}}`
}

function sortedKeys(object: JsonObject): string[] {
  return [...object.keys()].sort(compareUtf8)
}

/** The value with the members of all its objects sorted, as decoding into maps and encoding again leaves them. */
export function sortTree(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortTree)
  if (!(value instanceof Map)) return value
  const sorted: JsonObject = new Map()
  for (const key of sortedKeys(value)) sorted.set(key, sortTree(value.get(key) as JsonValue))
  return sorted
}

/** The member, if `value` is an object that has it. */
export function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return value instanceof Map ? value.get(key) : undefined
}

/** What stands at a path of names, if there are objects all the way. */
export function memberAt(
  value: JsonValue | undefined,
  path: readonly string[],
): JsonValue | undefined {
  let found = value
  for (const name of path) found = memberOf(found, name)
  return found
}

/** The items, if `value` is a list. */
export function itemsOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

/** A copy that shares nothing that can change. */
export function copyTree(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(copyTree)
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, copyTree(item)]))
  return value
}

/** Orders texts as their UTF-8 bytes: by code points, not by UTF-16 units. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left === right) continue
    // Surrogates stand for code points above all other units.
    const isLeftAstral = (left & 0xf800) === 0xd800
    const isRightAstral = (right & 0xf800) === 0xd800
    return isLeftAstral === isRightAstral ? left - right : isLeftAstral ? 1 : -1
  }
  return a.length - b.length
}

class TreeParser {
  readonly #bytes: Uint8Array
  readonly #end: number
  readonly #windows: Map<JsonValue, readonly [start: number, end: number]> | undefined
  #at: number
  /** All members of the objects in which one is repeated. */
  readonly repeated = new Map<JsonObject, [string, JsonValue][]>()

  constructor(
    bytes: Uint8Array,
    start: number,
    end: number,
    windows?: Map<JsonValue, readonly [start: number, end: number]>,
  ) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#windows = windows
  }

  /** All that there is. */
  document(): JsonValue | undefined {
    const value = this.#value(0)
    return value !== undefined && this.#next() === -1 ? value : undefined
  }

  #value(depth: number): JsonValue | undefined {
    const byte = this.#next()
    if (depth > treeMaxDepth) return undefined
    switch (byte) {
      case 0x7b:
        return this.#noted(this.#at, this.#object(depth))
      case 0x5b:
        return this.#noted(this.#at, this.#list(depth))
      case 0x22:
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #noted<T extends JsonObject | JsonValue[]>(start: number, value: T | undefined): T | undefined {
    if (value !== undefined) this.#windows?.set(value, [start, this.#at])
    return value
  }

  #object(depth: number): JsonObject | undefined {
    const object: JsonObject = new Map()
    this.#at++
    if (this.#take(0x7d)) return object
    do {
      if (this.#next() !== 0x22) return undefined
      const key = this.#string()
      if (key === undefined || !this.#take(0x3a)) return undefined
      const value = this.#value(depth + 1)
      if (value === undefined) return undefined
      if (object.has(key) && !this.repeated.has(object)) this.repeated.set(object, [...object])
      this.repeated.get(object)?.push([key, value])
      object.set(key, value)
    } while (this.#take(0x2c))
    return this.#take(0x7d) ? object : undefined
  }

  #list(depth: number): JsonValue[] | undefined {
    const list: JsonValue[] = []
    this.#at++
    if (this.#take(0x5d)) return list
    do {
      const value = this.#value(depth + 1)
      if (value === undefined) return undefined
      list.push(value)
    } while (this.#take(0x2c))
    return this.#take(0x5d) ? list : undefined
  }

  #string(): string | undefined {
    const start = this.#at + 1
    const end = stringEnd(this.#bytes, start, this.#end)
    if (end < 0) return undefined
    this.#at = end
    return decodeString(this.#bytes, start, end - 1)
  }

  #scalar(): JsonValue | undefined {
    const start = this.#at
    while (this.#at < this.#end && isScalarByte(this.#bytes[this.#at] as number)) this.#at++
    const text = textFromBytes(this.#bytes, start, this.#at)
    if (text === 'null') return null
    if (text === 'true' || text === 'false') return text === 'true'
    const number = canonicalNumber(text)
    return number === undefined ? undefined : new JsonNumber(number, text)
  }

  /** The next byte that is not white space, without taking it; -1 at the end. */
  #next(): number {
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at] as number
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte
      this.#at++
    }
    return -1
  }

  #take(byte: number): boolean {
    if (this.#next() !== byte) return false
    this.#at++
    return true
  }
}

/** Letters, digits, signs and the point: what numbers and literals are made of. */
function isScalarByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x45 ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  )
}
