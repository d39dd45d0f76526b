/** JSON text as a tree of values, and the tree as text again in the form that Go writes for maps:
 *  for objects that the API server would change on read, and for what YAML, CBOR and columns are
 *  made from. Numbers keep their text, objects are `Map`s, so that no key is special and members
 *  keep their order. */

import { canonicalNumber } from '../json-number.ts'
import { goJsonString } from '../text.ts'
import { GiveUp, noteEffort, textFromBytes } from '@watchglass/base'
import { decodeString } from './strings.ts'
import {
  JsonTape,
  jsonArray,
  jsonFalse,
  jsonNull,
  jsonNumber,
  jsonObject,
  jsonText,
  jsonTrue,
} from './tape.ts'

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

/** Nesting beyond this is refused. Go refuses more than 10,000; no real object comes near
 *  either. */
export const treeMaxDepth = 500

/** True if a value nests so deep that its text is not read again. */
export function isTooDeep(value: JsonValue, levels: number = treeMaxDepth): boolean {
  if (levels < 0) return true
  if (!(value instanceof Map) && !Array.isArray(value)) return false
  for (const member of value.values()) if (isTooDeep(member, levels - 1)) return true
  return false
}

/** The value that is all of `bytes[start..end)`, white space aside, as Go decodes it: the last of
 *  equal keys wins, and invalid UTF-8 is replaced. Undefined if it is malformed, too deep, or has a
 *  number that Go refuses. */
export function parseTree(bytes: Uint8Array, start: number, end: number): JsonValue | undefined {
  noteEffort((end - start) / treeBytesPerEffort)
  const tape = tapeOf(sharedTape, bytes, start, end)
  if (tape === undefined) return undefined
  const builder = new TreeBuilder(tape)
  builder.take()
  return builder.value
}

/** The bytes of which a tree is made, or which are made of one, in the time of a small thing. */
export const treeBytesPerEffort = 32

/** For trees, which keep nothing of it. */
const sharedTape = new JsonTape()

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

/** A document as a tree, with what the tree does not say of its text. Texts of more than `most`
 *  names and values are refused before a tree is made. */
export function parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
): ParsedDocument | undefined
export function parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
  most: number,
): ParsedDocument | 'too large' | undefined
export function parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
  most: number = Infinity,
): ParsedDocument | 'too large' | undefined {
  const windows = new Map<JsonValue, readonly [start: number, end: number]>()
  const tape = tapeOf(new JsonTape(), bytes, start, end)
  if (tape === undefined) return undefined
  if (tape.next(0) > most) return 'too large'
  const builder = new TreeBuilder(tape, windows)
  builder.take()
  const { value } = builder
  if (value === undefined) return undefined
  return {
    value,
    sourceOf: container => {
      const [from, to] = windows.get(container) ?? [0, 0]
      return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
    },
    hasRepeatedMembers: builder.repeated.size > 0,
    membersOf: object => builder.repeated.get(object) ?? object,
  }
}

/** The text that Go writes for the value: keys sorted by their UTF-8 bytes, no white space, HTML
 *  escaped. */
export function textFromTree(value: JsonValue): string {
  return writeTree(value, true)
}

/** The text of a value as Go writes it, but with the members of objects in their own order. */
export function textInOrder(value: JsonValue): string {
  return writeTree(value, false)
}

function writeTree(value: JsonValue, isSorted: boolean): string {
  if (typeof value === 'string') return goJsonString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (value instanceof JsonNumber) return value.text
  // Pieces are put together once, when the whole text is used: joining them at each level would
  // copy them as often.
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

/** The value with the members of all its objects sorted, as decoding into maps and encoding again
 *  leaves them. */
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

/** The member as an object; an empty one is added where there is none. */
export function objectIn(parent: JsonObject, name: string): JsonObject {
  const known = parent.get(name)
  if (known instanceof Map) return known
  const made: JsonObject = new Map()
  parent.set(name, made)
  return made
}

/** The value at a path of names, if there are objects all the way. */
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

/** Makes a tree of a tape: the containers that it is in are on a stack of its own, so that no depth
 *  of a document ends the process. */
class TreeBuilder {
  readonly #tape: JsonTape
  readonly #windows: Map<JsonValue, readonly [start: number, end: number]> | undefined
  /** The next node. */
  #node = 0
  /** The containers around it, the node after each, and the key that each will have its next value
   *  under. */
  readonly #around: (JsonObject | JsonValue[])[] = []
  readonly #ends: number[] = []
  readonly #keys: string[] = []
  /** All members of the objects in which one is repeated. */
  readonly repeated = new Map<JsonObject, [string, JsonValue][]>()
  /** All that there is, once everything has been taken; undefined if it is malformed. */
  value: JsonValue | undefined

  constructor(tape: JsonTape, windows?: Map<JsonValue, readonly [start: number, end: number]>) {
    this.#tape = tape
    this.#windows = windows
  }

  /** Takes all values; stops at one that is refused. */
  take(): void {
    const tape = this.#tape
    while (this.#around.length <= treeMaxDepth) {
      const node = this.#node++
      const kind = tape.kind(node)
      let value: JsonValue | undefined
      if (kind >= jsonArray) {
        value = kind === jsonObject ? new Map() : []
        this.#windows?.set(value, [tape.start(node), tape.end(node)])
        if (tape.next(node) > this.#node) {
          this.#open(value, tape.next(node))
          continue
        }
      } else {
        value = this.#scalar(node, kind)
      }
      if (value === undefined || this.#close(value)) return
    }
  }

  #open(container: JsonObject | JsonValue[], end: number): void {
    this.#around.push(container)
    this.#ends.push(end)
    this.#keys.push('')
    if (container instanceof Map) this.#takeKey()
  }

  /** Puts a whole value where it belongs, and closes the containers that end behind it. True if no
   *  other value follows. */
  #close(whole: JsonValue): boolean {
    let value = whole
    for (;;) {
      const last = this.#around.length - 1
      const container = this.#around[last]
      if (container === undefined) {
        this.value = value
        return true
      }
      if (container instanceof Map) this.#set(container, this.#keys[last] as string, value)
      else container.push(value)
      if (this.#node < (this.#ends[last] as number)) {
        if (container instanceof Map) this.#takeKey()
        return false
      }
      this.#around.pop()
      this.#ends.pop()
      this.#keys.pop()
      value = container
    }
  }

  #set(object: JsonObject, key: string, value: JsonValue): void {
    if (object.has(key) && !this.repeated.has(object)) this.repeated.set(object, [...object])
    this.repeated.get(object)?.push([key, value])
    object.set(key, value)
  }

  /** The key of the next member of the innermost object. */
  #takeKey(): void {
    const node = this.#node++
    this.#keys[this.#keys.length - 1] = this.#text(node, this.#tape.kind(node))
  }

  #scalar(node: number, kind: number): JsonValue | undefined {
    if (kind === jsonNull) return null
    if (kind !== jsonNumber) {
      return kind === jsonTrue || kind === jsonFalse ? kind === jsonTrue : this.#text(node, kind)
    }
    return numberIn(this.#tape.input, this.#tape.start(node), this.#tape.end(node))
  }

  #text(node: number, kind: number): string {
    const { input } = this.#tape
    const [start, end] = [this.#tape.start(node), this.#tape.end(node)]
    // The tape has checked its escapes.
    if (kind === jsonText) return decodeString(input, start, end) as string
    return textFromBytes(input, start, end)
  }
}

/** The number in a window; undefined if Go refuses it. Most are small integers, and the same ones
 *  again and again. */
function numberIn(bytes: Uint8Array, start: number, end: number): JsonNumber | undefined {
  if (end - start <= knownDigits) {
    let value = 0
    let at = start
    for (; at < end && isDigit(bytes[at] as number); at++) {
      value = 10 * value + (bytes[at] as number) - 0x30
    }
    // A zero before other digits is no number.
    const isShort = at === end && (bytes[start] !== 0x30 || end - start === 1)
    if (isShort) return (knownNumbers[value] ??= new JsonNumber(String(value)))
  }
  const text = textFromBytes(bytes, start, end)
  const number = canonicalNumber(text)
  return number === undefined ? undefined : new JsonNumber(number, text)
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

const knownDigits = 3
const knownNumbers: (JsonNumber | undefined)[] = Array.from<undefined>({
  length: 10 ** knownDigits,
}).fill(undefined)

/** The tape of a whole text, made for it alone or used again; undefined if it is malformed. */
function tapeOf(
  tape: JsonTape,
  bytes: Uint8Array,
  start: number,
  end: number,
): JsonTape | undefined {
  try {
    tape.parse(bytes, start, end)
    return tape
  } catch (error) {
    if (error instanceof GiveUp) return undefined
    throw error
  }
}
