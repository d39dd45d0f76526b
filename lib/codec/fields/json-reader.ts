/** Fields of JSON objects by path, without parsing the rest: the counterpart of reader.ts for custom resources.
 *
 *  One walk along the paths notes where values begin and end. What lies beside them is skipped by its brackets and quotes, and
 *  not checked: whether a text is what the API would serve is the business of custom.ts. Of equal keys the last wins. */

import { canonicalNumber } from '../../go/json-number.ts'
import { KeyTable } from '../json/key-table.ts'
import { type JsonInput, decodeString, inputOf, skipPlain, stringEnd } from '../json/strings.ts'
import { textFromBytes } from '../text.ts'

/** One member on the way to a value. */
interface Branch {
  /** -1 if it only leads further. */
  readonly slot: number
  readonly child: KeyTable<Branch> | undefined
  /** The slots of everything inside it. */
  readonly inner: readonly number[]
}

/** A path is a list of keys. */
export type JsonPath = readonly string[]

/** Holds one object at a time. */
export class JsonFieldReader {
  readonly #root: KeyTable<Branch>
  /** Equal paths share a place. */
  readonly #places: readonly number[]
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  #source: Uint8Array = new Uint8Array(0)
  #bytes: Uint8Array = this.#source
  #input: JsonInput = inputOf(this.#source)
  #end = 0
  #keyEnd = 0
  #isKeyPlain = true
  /** Where the value of the last key begins; at the end of an object, where that is. */
  #valueStart = 0

  /** Slots are numbered as the paths are. */
  constructor(paths: readonly JsonPath[]) {
    this.#places = paths.map(path => paths.findIndex(other => isSamePath(path, other)))
    const placed = paths.map((path, slot) => ({ path, slot }))
    this.#root = tableOf(placed.filter(({ slot }) => this.#places[slot] === slot))
    this.#starts = new Int32Array(paths.length)
    this.#ends = new Int32Array(paths.length)
  }

  /** Reads the object in `bytes[start..end)`. False if the parts that were visited are malformed; then every value is
   *  absent. */
  readStored(bytes: Uint8Array, start: number, end: number): boolean {
    this.#setInput(bytes)
    this.#end = end
    this.#starts.fill(0)
    this.#ends.fill(0)
    const at = this.#skipSpace(start)
    if (this.#bytes[at] === openBrace && this.#object(this.#root, at) >= 0) return true
    this.#ends.fill(0)
    return false
  }

  has(slot: number): boolean {
    return this.#endOf(slot) !== 0
  }

  /** A scalar as text: the content of a string, `true`, `false`, a number as Go writes it. '' for whatever else there is. */
  scalarText(slot: number): string {
    const start = this.#startOf(slot)
    const end = this.#endOf(slot)
    if (end === 0) return ''
    const first = this.#bytes[start]
    if (first === quote) return this.#string(start, end)
    if (first === openBrace || first === openBracket) return ''
    const text = textFromBytes(this.#bytes, start, end)
    if (text === 'true' || text === 'false') return text
    return canonicalNumber(text) ?? ''
  }

  /** The member of an object whose values are texts; undefined if there is none. */
  mapText(slot: number, key: string): string | undefined {
    let found: string | undefined
    this.#eachMember(slot, (name, start, end) => {
      if (name === key) found = this.#textOrEmpty(start, end)
    })
    return found
  }

  /** Calls back with the name of each member of an object. */
  eachMapKey(slot: number, take: (key: string) => void): void {
    this.#eachMember(slot, take)
  }

  #startOf(slot: number): number {
    return this.#starts[this.#places[slot] as number] as number
  }

  #endOf(slot: number): number {
    return this.#ends[this.#places[slot] as number] as number
  }

  #setInput(bytes: Uint8Array): void {
    if (bytes === this.#source) return
    this.#source = bytes
    this.#input = inputOf(bytes)
    this.#bytes = this.#input.bytes
  }

  #eachMember(slot: number, take: (name: string, start: number, end: number) => void): void {
    let at = this.#startOf(slot)
    if (this.#endOf(slot) === 0 || this.#bytes[at] !== openBrace) return
    for (let previous = -1; ; previous = at) {
      const keyStart = this.#nextKey(at, previous)
      if (keyStart < 0) return
      const valueStart = this.#valueStart
      at = this.#skipValue(valueStart)
      if (at < 0) return
      take(this.#string(keyStart - 1, this.#keyEnd + 1), valueStart, at)
    }
  }

  #textOrEmpty(start: number, end: number): string {
    return this.#bytes[start] === quote ? this.#string(start, end) : ''
  }

  #string(start: number, end: number): string {
    return decodeString(this.#bytes, start + 1, end - 1) ?? ''
  }

  /** Walks the object whose brace is at `start`. Returns where it ends, or -1. */
  #object(table: KeyTable<Branch>, start: number): number {
    let at = start
    for (let previous = -1; ; previous = at) {
      const keyStart = this.#nextKey(at, previous)
      if (keyStart < 0) return keyStart === endOfObject ? this.#valueStart : -1
      const branch = this.#find(table, keyStart)
      const valueStart = this.#valueStart
      // Of a repeated key only the last value counts.
      if (branch !== undefined) for (const slot of branch.inner) this.#ends[slot] = 0
      if (branch?.child !== undefined && this.#bytes[valueStart] === openBrace) {
        at = this.#object(branch.child, valueStart)
      } else {
        at = this.#skipValue(valueStart)
      }
      if (at < 0) return -1
      if (branch !== undefined && branch.slot >= 0) {
        this.#starts[branch.slot] = valueStart
        this.#ends[branch.slot] = at
      }
    }
  }

  #find(table: KeyTable<Branch>, keyStart: number): Branch | undefined {
    if (this.#isKeyPlain) return table.find(this.#input, keyStart, this.#keyEnd)
    const bytes = new TextEncoder().encode(this.#string(keyStart - 1, this.#keyEnd + 1))
    return table.find(inputOf(bytes), 0, bytes.length)
  }

  /** From an opening brace (`previous` is -1), or from the end of a value, to the next key: where it begins, behind its quote. */
  #nextKey(from: number, previous: number): number {
    const bytes = this.#bytes
    let at = previous < 0 ? from + 1 : from
    at = this.#skipSpace(at)
    if (at < this.#end && bytes[at] === closeBrace) {
      this.#valueStart = at + 1
      return endOfObject
    }
    if (previous >= 0) {
      if (at >= this.#end || bytes[at] !== comma) return malformed
      at = this.#skipSpace(at + 1)
    }
    if (at >= this.#end || bytes[at] !== quote) return malformed
    const start = at + 1
    const plainEnd = skipPlain(this.#input.view, start, this.#end)
    this.#isKeyPlain = plainEnd < this.#end && bytes[plainEnd] === quote
    const after = this.#isKeyPlain ? plainEnd + 1 : stringEnd(bytes, start, this.#end)
    if (after < 0) return malformed
    this.#keyEnd = after - 1
    at = this.#skipSpace(after)
    if (at >= this.#end || bytes[at] !== colon) return malformed
    this.#valueStart = this.#skipSpace(at + 1)
    return start
  }

  /** After the value at `start`, or -1. */
  #skipValue(start: number): number {
    const bytes = this.#bytes
    const end = this.#end
    let depth = 0
    let at = start
    while (at < end) {
      const byte = bytes[at] as number
      if (byte === quote) {
        at = this.#skipString(at + 1)
        if (at < 0) return -1
        if (depth === 0) return at
      } else if (byte === openBrace || byte === openBracket) {
        depth++
        at++
      } else if (byte === closeBrace || byte === closeBracket) {
        // A scalar ends before the bracket of what it is in.
        if (depth === 0) return at > start ? at : -1
        at++
        if (--depth === 0) return at
      } else if (depth === 0 && (byte === comma || isSpace(byte))) {
        return at > start ? at : -1
      } else {
        at++
      }
    }
    return -1
  }

  #skipString(start: number): number {
    const at = skipPlain(this.#input.view, start, this.#end)
    return at < this.#end && this.#bytes[at] === quote
      ? at + 1
      : stringEnd(this.#bytes, at, this.#end)
  }

  #skipSpace(start: number): number {
    let at = start
    while (at < this.#end && isSpace(this.#bytes[at] as number)) at++
    return at
  }
}

// Its own: see ../json/proven.ts.
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

const endOfObject = -1
const malformed = -2

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

interface Placed {
  readonly path: JsonPath
  readonly slot: number
}

function tableOf(placed: readonly Placed[]): KeyTable<Branch> {
  const byKey = new Map<string, Placed[]>()
  for (const { path, slot } of placed) {
    const [key = '', ...rest] = path
    byKey.set(key, [...(byKey.get(key) ?? []), { path: rest, slot }])
  }
  return new KeyTable(
    [...byKey].map(([key, inner]) => {
      const deeper = inner.filter(({ path }) => path.length > 0)
      const child = deeper.length > 0 ? tableOf(deeper) : undefined
      const slot = inner.find(({ path }) => path.length === 0)?.slot ?? -1
      return [key, { slot, child, inner: deeper.map(item => item.slot) }]
    }),
  )
}

function isSamePath(a: JsonPath, b: JsonPath): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i])
}
