/** JSON text as a tree of values, and the tree as text again in the form that Go writes for maps: for objects that the API server
 *  would change on read, and for what YAML, CBOR and columns are made from. Numbers keep their text, objects are `Map`s, so that
 *  no key is special and members keep their order. */

import { isStepDue, type Steps } from '../../base/slice.ts'
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
  const parser = new TreeParser(bytes, start, end)
  parser.take(Infinity)
  return parser.value
}

/** The same in steps. */
export function* parseInSteps(
  bytes: Uint8Array,
  start: number,
  end: number,
): Steps<JsonValue | undefined> {
  const parser = new TreeParser(bytes, start, end)
  while (!parser.take(valuesPerStep)) yield
  return parser.value
}

/** So many values are parsed in one step. */
const valuesPerStep = 512

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

/** The same, with more to ask. */
export function* parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
): Steps<ParsedDocument | undefined> {
  const windows = new Map<JsonValue, readonly [start: number, end: number]>()
  const parser = new TreeParser(bytes, start, end, windows)
  while (!parser.take(valuesPerStep)) yield
  const { value } = parser
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

/** The same in steps. */
export function* textInSteps(value: JsonValue): Steps<string> {
  if (!(value instanceof Map) && !Array.isArray(value)) return textFromTree(value)
  if (isStepDue()) yield
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += (text === '' ? '' : ',') + (yield* textInSteps(item))
    return `[${text}]`
  }
  for (const key of sortedKeys(value)) {
    const member = yield* textInSteps(value.get(key) as JsonValue)
    text += `${text === '' ? '' : ','}${goJsonString(key)}:${member}`
  }
  return `{${text}}`
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

/** The same in steps. */
export function* sortInSteps(value: JsonValue): Steps<JsonValue> {
  if (!(value instanceof Map) && !Array.isArray(value)) return value
  if (isStepDue()) yield
  if (Array.isArray(value)) {
    const items: JsonValue[] = []
    for (const item of value) items.push(yield* sortInSteps(item))
    return items
  }
  const sorted: JsonObject = new Map()
  for (const key of sortedKeys(value)) {
    sorted.set(key, yield* sortInSteps(value.get(key) as JsonValue))
  }
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
  if (!(value instanceof Map)) return value
  const copy: JsonObject = new Map()
  for (const [key, item] of value) copy.set(key, copyTree(item))
  return copy
}

/** The same in steps. */
export function* copyInSteps(value: JsonValue): Steps<JsonValue> {
  if (!(value instanceof Map) && !Array.isArray(value)) return value
  if (isStepDue()) yield
  if (Array.isArray(value)) {
    const items: JsonValue[] = []
    for (const item of value) items.push(yield* copyInSteps(item))
    return items
  }
  const copy: JsonObject = new Map()
  for (const [key, item] of value) copy.set(key, yield* copyInSteps(item))
  return copy
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

/** A parser that can stop between any two values: the containers that it is in are on a stack of its own. */
class TreeParser {
  readonly #bytes: Uint8Array
  readonly #end: number
  readonly #windows: Map<JsonValue, readonly [start: number, end: number]> | undefined
  #at: number
  /** The containers around the next value, where each begins, and the key that each will have its next value under. */
  readonly #around: (JsonObject | JsonValue[])[] = []
  readonly #starts: number[] = []
  readonly #keys: string[] = []
  /** All members of the objects in which one is repeated. */
  readonly repeated = new Map<JsonObject, [string, JsonValue][]>()
  /** All that there is, once everything has been taken; undefined if it is malformed. */
  value: JsonValue | undefined

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

  /** Takes up to so many values. True once there is nothing left to take. */
  take(most: number): boolean {
    for (let taken = 0; taken < most; taken++) {
      const byte = this.#next()
      if (this.#around.length > treeMaxDepth) return true
      let value: JsonValue | undefined
      if (byte === 0x7b || byte === 0x5b) {
        const state = this.#open(byte === 0x7b ? new Map() : [])
        if (state === 'open') continue
        if (state === 'malformed') return true
        value = state
      } else {
        value = byte === 0x22 ? this.#string() : this.#scalar()
      }
      if (value === undefined || this.#close(value)) return true
    }
    return false
  }

  /** Goes into a container, up to its first value; one that is empty is whole. */
  #open(container: JsonObject | JsonValue[]): 'open' | 'malformed' | JsonObject | JsonValue[] {
    const start = this.#at++
    if (this.#take(container instanceof Map ? 0x7d : 0x5d)) {
      this.#windows?.set(container, [start, this.#at])
      return container
    }
    this.#around.push(container)
    this.#starts.push(start)
    this.#keys.push('')
    return container instanceof Map && !this.#key() ? 'malformed' : 'open'
  }

  /** Puts a whole value where it belongs, and closes the containers that end behind it. True if no other value follows. */
  #close(value: JsonValue): boolean {
    for (;;) {
      const last = this.#around.length - 1
      const container = this.#around[last]
      if (container === undefined) {
        if (this.#next() === -1) this.value = value
        return true
      }
      if (container instanceof Map) this.#set(container, this.#keys[last] as string, value)
      else container.push(value)
      if (this.#take(0x2c)) return container instanceof Map && !this.#key()
      if (!this.#take(container instanceof Map ? 0x7d : 0x5d)) return true
      this.#windows?.set(container, [this.#starts[last] as number, this.#at])
      this.#around.pop()
      this.#starts.pop()
      this.#keys.pop()
      value = container
    }
  }

  #set(object: JsonObject, key: string, value: JsonValue): void {
    if (object.has(key) && !this.repeated.has(object)) this.repeated.set(object, [...object])
    this.repeated.get(object)?.push([key, value])
    object.set(key, value)
  }

  /** The key of the next member of the innermost object, and its colon. */
  #key(): boolean {
    if (this.#next() !== 0x22) return false
    const key = this.#string()
    if (key === undefined) return false
    this.#keys[this.#keys.length - 1] = key
    return this.#take(0x3a)
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
