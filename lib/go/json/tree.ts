/** JSON text as a tree of values, and the tree as text again in the form that Go writes for maps:
 *  for objects that the API server would change on read, and for what YAML, CBOR and columns are
 *  made from. Numbers keep their text, objects are `Map`s, so that no key is special and members
 *  keep their order. */

import { canonicalNumber } from '../json-number.ts'
import { goJsonString } from '../text.ts'
import {
  atOnce,
  GiveUp,
  isStepDue,
  noteEffort,
  sortedIfShort,
  sortedInSteps,
  type Steps,
  textFromBytes,
} from '@watchglass/base'
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
  try {
    sharedTape.parse(bytes, start, end)
  } catch (error) {
    if (error instanceof GiveUp) return undefined
    throw error
  }
  const builder = new TreeBuilder(sharedTape)
  builder.take(Infinity)
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

/** A document as a tree, with what the tree does not say of its text. */
export function parseDocument(
  bytes: Uint8Array,
  start: number,
  end: number,
): ParsedDocument | undefined {
  const document = atOnce(documentInSteps(bytes, start, end, Infinity))
  return document === 'too large' ? undefined : document
}

/** Reads a document in steps, of which a small one takes a single one. Texts of more than `most`
 *  names and values are refused before a tree is made. */
export function* documentInSteps(
  bytes: Uint8Array,
  start: number,
  end: number,
  most: number,
): Steps<ParsedDocument | 'too large' | undefined> {
  const tape = new JsonTape()
  if (!(yield* readInSteps(tape, bytes, { start, end }))) return undefined
  if (tape.next(0) > most) return 'too large'
  const windows = new Map<JsonValue, readonly [start: number, end: number]>()
  const builder = new TreeBuilder(tape, windows)
  while (!builder.take(valuesPerStep)) yield
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

/** Values that are read in one step, in about half a millisecond. */
const valuesPerStep = 2048

/** `parseTree` in steps. */
export function* treeInSteps(
  bytes: Uint8Array,
  start: number,
  end: number,
): Steps<JsonValue | undefined> {
  const tape = new JsonTape()
  if (!(yield* readInSteps(tape, bytes, { start, end }))) return undefined
  const builder = new TreeBuilder(tape)
  while (!builder.take(valuesPerStep)) yield
  return builder.value
}

/** False if the text is malformed. */
function* readInSteps(
  tape: JsonTape,
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
): Steps<boolean> {
  try {
    tape.begin(bytes, start, end)
    while (!tape.read(valuesPerStep)) yield
    return true
  } catch (error) {
    if (error instanceof GiveUp) return false
    throw error
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
  return scalarText(value) ?? atOnce(containerText(value as Container, isSorted))
}

/** `textFromTree` in steps. */
export function* textInSteps(value: JsonValue): Steps<string> {
  return scalarText(value) ?? (yield* containerText(value as Container, true))
}

type Container = JsonObject | JsonValue[]

/** Undefined for a list or an object. */
function scalarText(value: JsonValue): string | undefined {
  if (typeof value === 'string') return goJsonString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  return value instanceof JsonNumber ? value.text : undefined
}

/** The containers that have begun are in a list, the innermost last. Pieces are put together once,
 *  when the whole text is used. */
function* containerText(root: Container, isSorted: boolean): Steps<string> {
  const open = [beginText(root, isSorted) ?? (yield* beginLongText(root as JsonObject))]
  let text = Array.isArray(root) ? '[' : '{'
  for (;;) {
    const around = open[open.length - 1]
    if (around === undefined) return text
    const { container, keys } = around
    if (around.at === (keys ?? (container as JsonValue[])).length) {
      text += keys === undefined ? ']' : '}'
      open.pop()
      continue
    }
    if (isStepDue()) yield
    if (around.at > 0) text += ','
    let member: JsonValue
    if (keys === undefined) member = (container as JsonValue[])[around.at++] as JsonValue
    else {
      const key = keys[around.at++] as string
      text += `${goJsonString(key)}:`
      member = (container as JsonObject).get(key) as JsonValue
    }
    const scalar = scalarText(member)
    if (scalar !== undefined) text += scalar
    else {
      text += Array.isArray(member) ? '[' : '{'
      const inner = beginText(member as Container, isSorted)
      open.push(inner ?? (yield* beginLongText(member as JsonObject)))
    }
  }
}

/** A container whose text has begun. */
interface OpenText {
  readonly container: Container
  /** Undefined for a list. */
  readonly keys: readonly string[] | undefined
  /** The next member. */
  at: number
}

/** Undefined for an object with so many members that they are sorted in steps. */
function beginText(container: Container, isSorted: boolean): OpenText | undefined {
  if (Array.isArray(container)) return { container, keys: undefined, at: 0 }
  const keys = [...container.keys()]
  const ordered = isSorted ? sortedIfShort(keys, compareUtf8) : keys
  return ordered && { container, keys: ordered, at: 0 }
}

function* beginLongText(container: JsonObject): Steps<OpenText> {
  return { container, keys: yield* keysInOrder(container), at: 0 }
}

function sortedKeys(object: JsonObject): string[] {
  return [...object.keys()].sort(compareUtf8)
}

function keysInOrder(object: JsonObject): Steps<string[]> {
  return sortedInSteps([...object.keys()], compareUtf8)
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

/** `sortTree` of an object in steps. */
export function sortTreeInSteps(object: JsonObject): Steps<JsonObject> {
  return copyInSteps(object, true)
}

/** `copyTree` of an object in steps. */
export function copyTreeInSteps(object: JsonObject): Steps<JsonObject> {
  return copyInSteps(object, false)
}

function* copyInSteps(object: JsonObject, isSorted: boolean): Steps<JsonObject> {
  const root: JsonObject = new Map()
  const open: [from: Container, into: Container][] = [[object, root]]
  const copied = (member: JsonValue): JsonValue => {
    if (!Array.isArray(member) && !(member instanceof Map)) return member
    const into: Container = Array.isArray(member) ? [] : new Map()
    open.push([member, into])
    return into
  }
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [from, into] = next
    if (into instanceof Map && from instanceof Map) {
      const keys = [...from.keys()]
      const ordered = isSorted ? sortedIfShort(keys, compareUtf8) : keys
      for (const key of ordered ?? (yield* keysInOrder(from))) {
        if (isStepDue()) yield
        into.set(key, copied(from.get(key) as JsonValue))
      }
    } else if (Array.isArray(into)) {
      for (const item of from as JsonValue[]) {
        if (isStepDue()) yield
        into.push(copied(item))
      }
    }
  }
  return root
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

  /** Takes about so many values; stops at one that is refused. True if no other follows. */
  take(most: number): boolean {
    const tape = this.#tape
    const enough = this.#node + most
    while (this.#around.length <= treeMaxDepth) {
      if (this.#node >= enough) return false
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
      if (value === undefined || this.#close(value)) break
    }
    return true
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
