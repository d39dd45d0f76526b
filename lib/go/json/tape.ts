/** JSON text as a tape of nodes: one scan checks the whole text and notes where every value is,
 *  after which members can be visited in any order without scanning again. Protobuf wants fields in
 *  the order of their numbers, JSON has its own.
 *
 *      {"a":[1,"x"]}      0 object  1 text a  2 array  3 number 1  4 text x
 *
 *  A node is four numbers: its kind, where it begins and ends in the input, and the node after it
 *  and all that it contains. The tape is kept and used again, so parsing allocates nothing once it
 *  has grown. */

import { giveUp } from '@watchglass/base'
import { skipPlain } from './strings.ts'

/** The kinds of nodes. A plain text is ASCII without escapes: its bytes are what it says. */
export const jsonNull = 0
export const jsonTrue = 1
export const jsonFalse = 2
export const jsonNumber = 3
export const jsonPlainText = 4
export const jsonText = 5
export const jsonArray = 6
export const jsonObject = 7

/** As Go's own scanner. */
const tapeMaxDepth = 10_000
const nodeSize = 4
/** A tape that a larger document has made larger is let go before the next one. */
const keptNodes = 64 * 1024

export class JsonTape {
  /** `kind, start, end, next` of each node. A text's window has no quotes; that of an array or
   *  object has its brackets. */
  nodes: Int32Array = new Int32Array(1024 * nodeSize)
  input: Uint8Array = new Uint8Array(0)
  #view: DataView = new DataView(this.input.buffer)
  #count = 0
  #end = 0
  /** The place of `read`, between two of its calls. */
  #at = 0
  /** The innermost open array or object; its `next` holds the one around it while it is open. */
  #innermost = -1
  #depth = 0

  kind(node: number): number {
    return this.nodes[node * nodeSize] as number
  }

  start(node: number): number {
    return this.nodes[node * nodeSize + 1] as number
  }

  end(node: number): number {
    return this.nodes[node * nodeSize + 2] as number
  }

  /** The node after this one, on the same level or, at the end, on the one above: of an object, the
   *  first that is not in it. */
  next(node: number): number {
    return this.nodes[node * nodeSize + 3] as number
  }

  /** Reads one JSON value, with white space around it, into node 0 and what follows. Gives up if it
   *  is not well-formed. */
  parse(bytes: Uint8Array, start: number, end: number): void {
    this.begin(bytes, start, end)
    this.read(Infinity)
  }

  /** Begins with another text, which `read` then reads on. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    if (this.nodes.length > keptNodes * nodeSize) this.nodes = new Int32Array(1024 * nodeSize)
    this.input = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#count = 0
    this.#end = end
    this.#at = this.#value(this.#skipSpace(start))
    this.#innermost = this.#isOpen(0) ? 0 : -1
    this.#depth = 1
  }

  /** Reads about so many values. True once the text has ended, and false if there are more. */
  read(most: number): boolean {
    const { input: bytes } = this
    const end = this.#end
    const enough = this.#count + most
    let at = this.#at
    let open = this.#innermost
    while (open !== -1) {
      if (this.#count >= enough) {
        this.#at = at
        this.#innermost = open
        return false
      }
      const isObject = this.kind(open) === jsonObject
      const isEmpty = this.#count === open + 1
      at = this.#skipSpace(at)
      if (at < end && bytes[at] === (isObject ? 0x7d : 0x5d)) {
        const around = this.next(open)
        this.nodes[open * nodeSize + 2] = ++at
        this.nodes[open * nodeSize + 3] = this.#count
        open = around
        this.#depth--
        continue
      }
      if (!isEmpty) at = this.#skipSpace(this.#expect(at, 0x2c))
      if (isObject) {
        if (at >= end || bytes[at] !== 0x22) malformed()
        at = this.#skipSpace(this.#expect(this.#skipSpace(this.#text(at)), 0x3a))
      }
      const node = this.#count
      at = this.#value(at)
      if (this.#isOpen(node)) {
        this.nodes[node * nodeSize + 3] = open
        open = node
        if (++this.#depth > tapeMaxDepth) giveUp('JSON is nested too deep')
      }
    }
    if (this.#skipSpace(at) !== end) malformed()
    return true
  }

  #isOpen(node: number): boolean {
    return this.kind(node) >= jsonArray && this.end(node) === -1
  }

  /** Adds the value that begins at `at`, of an array or object only the beginning; returns the
   *  position after it. */
  #value(at: number): number {
    if (at >= this.#end) malformed()
    switch (this.input[at] as number) {
      case 0x22:
        return this.#text(at)
      case 0x7b:
        return this.#open(jsonObject, at)
      case 0x5b:
        return this.#open(jsonArray, at)
      case 0x74:
        return this.#literal(jsonTrue, at, 'true')
      case 0x66:
        return this.#literal(jsonFalse, at, 'false')
      case 0x6e:
        return this.#literal(jsonNull, at, 'null')
      default: {
        const after = numberEnd(this.input, at, this.#end)
        if (after < 0) malformed()
        this.#add(jsonNumber, at, after)
        return after
      }
    }
  }

  #open(kind: number, at: number): number {
    this.nodes[this.#add(kind, at, -1) * nodeSize + 3] = -1
    return at + 1
  }

  #literal(kind: number, at: number, literal: string): number {
    const after = at + literal.length
    if (after > this.#end) malformed()
    for (let i = 0; i < literal.length; i++) {
      if (this.input[at + i] !== literal.charCodeAt(i)) malformed()
    }
    this.#add(kind, at, after)
    return after
  }

  /** Adds the text whose opening quote is at `at`. */
  #text(at: number): number {
    const { input } = this
    let kind = jsonPlainText
    for (let i = skipPlain(this.#view, at + 1, this.#end); i < this.#end;) {
      const byte = input[i] as number
      if (byte === 0x22) {
        this.#add(kind, at + 1, i)
        return i + 1
      }
      if (byte < 0x20) malformed()
      if (byte === 0x5c) {
        kind = jsonText
        i = this.#escapeEnd(i + 1)
      } else if (byte > 0x7f) {
        kind = jsonText
      }
      i = skipPlain(this.#view, i + 1, this.#end)
    }
    return malformed()
  }

  /** The last byte of the escape whose letter is at `at`. */
  #escapeEnd(at: number): number {
    const letter = at < this.#end ? (this.input[at] as number) : 0
    if (letter !== 0x75) {
      if (shortEscapeLetters[letter] !== 1) malformed()
      return at
    }
    if (at + 4 >= this.#end) malformed()
    for (let i = at + 1; i <= at + 4; i++) {
      const byte = this.input[i] as number
      const lower = byte | 0x20
      const isHex = (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66)
      if (!isHex) malformed()
    }
    return at + 4
  }

  #add(kind: number, start: number, end: number): number {
    const node = this.#count++
    const at = node * nodeSize
    if (at + nodeSize > this.nodes.length) {
      const grown = new Int32Array(this.nodes.length * 2)
      grown.set(this.nodes)
      this.nodes = grown
    }
    this.nodes[at] = kind
    this.nodes[at + 1] = start
    this.nodes[at + 2] = end
    this.nodes[at + 3] = node + 1
    return node
  }

  #expect(at: number, byte: number): number {
    if (at >= this.#end || this.input[at] !== byte) malformed()
    return at + 1
  }

  #skipSpace(start: number): number {
    let at = start
    for (; at < this.#end; at++) {
      const byte = this.input[at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
    }
    return at
  }
}

/** The letters behind a backslash that stand for one character. */
const shortEscapeLetters = new Uint8Array(0x100)
for (const letter of '"\\/bfnrt') shortEscapeLetters[letter.charCodeAt(0)] = 1

function malformed(): never {
  return giveUp('JSON is malformed')
}

/** After the JSON number at `start`; -1 if there is none. */
export function numberEnd(input: Uint8Array, start: number, end: number): number {
  let at = start
  if (at < end && input[at] === 0x2d) at++
  if (at < end && input[at] === 0x30) at++
  else at = digitsEnd(input, at, end)
  if (at >= 0 && at < end && input[at] === 0x2e) at = digitsEnd(input, at + 1, end)
  if (at >= 0 && at < end && ((input[at] as number) | 0x20) === 0x65) {
    const sign = at + 1 < end ? input[at + 1] : 0
    at = digitsEnd(input, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1, end)
  }
  return at
}

/** After the digits at `start`; -1 if there are none. */
function digitsEnd(input: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && (input[at] as number) >= 0x30 && (input[at] as number) <= 0x39) at++
  return at === start ? -1 : at
}
