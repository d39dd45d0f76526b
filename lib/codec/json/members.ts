/** Steps over the members of JSON objects and the items of JSON lists without decoding them:
 *  windows of bytes, one after the other. What is stepped over is skipped by its brackets and
 *  quotes, and not checked. Stored JSON is compact and its names have no escapes, because Go wrote
 *  it; other text is stepped over as well, but a name with an escape in it is named nothing. */

import { inputOf, type JsonInput, skipPlain, stringEnd } from '@watchglass/go'

// Its own: see proven.ts.
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** A cursor over one object or list. Meant to be kept and `reset`.
 *
 *      members.reset(bytes, start, end)
 *      while (members.next()) use(members.nameStart, members.nameEnd, members.start, members.end)
 *      if (members.isMalformed) ...
 *
 *  Whoever wants what is in a value, too, stops before it, and walks it with another cursor, so
 *  that nothing is read twice:
 *
 *      while (members.nextName()) {
 *        inner.enter(members)
 *        while (inner.next()) ...
 *        members.leave(inner)            // or members.skip()
 *      } */
export class JsonMembers {
  /** A window's array and its view. Never a `Buffer`: hot loops see one kind of array. */
  input: JsonInput = inputOf(new Uint8Array(0))
  /** The name without its quotes; empty for the items of a list. */
  nameStart = 0
  nameEnd = 0
  /** The name is ASCII without escapes. */
  isNamePlain = true
  /** The value. */
  start = 0
  end = 0
  isMalformed = false
  #source: Uint8Array = this.input.bytes
  #at = 0
  #limit = 0
  #close = 0
  #isFirst = true
  #isOpen = false

  get bytes(): Uint8Array {
    return this.input.bytes
  }

  get isObject(): boolean {
    return this.#close === closeBrace
  }

  /** Begins with the object or list that begins at `start`. Anything else has no members. */
  reset(bytes: Uint8Array, start: number, limit: number): void {
    // Objects share slabs, so the views of an array are kept for the next object.
    if (bytes !== this.#source) {
      this.#source = bytes
      this.input = inputOf(bytes)
    }
    this.#begin(start, limit)
  }

  /** Begins with the value that `outer` stands before. */
  enter(outer: JsonMembers): void {
    this.#source = outer.#source
    this.input = outer.input
    this.#begin(outer.start, outer.#limit)
  }

  /** Goes on behind the value that `inner` has entered, if that has come to the end of it. */
  leave(inner: JsonMembers): boolean {
    if (inner.isMalformed) return this.#malformed()
    this.end = inner.end
    this.#at = inner.end
    return true
  }

  /** Goes to the next member or item; false at the end, and when the text is malformed. At the end
   *  of the object or list, `end` is behind its bracket. */
  next(): boolean {
    return this.nextName() && this.skip()
  }

  /** Reads the name of the next member, and stops before its value: `end` is not known. */
  nextName(): boolean {
    if (!this.#isOpen) return false
    const { bytes } = this.input
    const limit = this.#limit
    let at = skipSpace(bytes, this.#at, limit)
    if (at >= limit) return this.#malformed()
    if (bytes[at] === this.#close) {
      this.#isOpen = false
      this.end = at + 1
      return false
    }
    if (this.#isFirst) this.#isFirst = false
    else {
      if (bytes[at] !== comma) return this.#malformed()
      at = skipSpace(bytes, at + 1, limit)
    }
    if (this.#close === closeBrace) {
      if (at >= limit || bytes[at] !== quote) return this.#malformed()
      this.nameStart = at + 1
      const plainEnd = skipPlain(this.input.view, at + 1, limit)
      this.isNamePlain = plainEnd < limit && bytes[plainEnd] === quote
      at = this.isNamePlain ? plainEnd + 1 : stringEnd(bytes, plainEnd, limit)
      if (at < 0) return this.#malformed()
      this.nameEnd = at - 1
      at = skipSpace(bytes, at, limit)
      if (at >= limit || bytes[at] !== colon) return this.#malformed()
      at = skipSpace(bytes, at + 1, limit)
    }
    this.start = at
    return true
  }

  /** Goes behind the value. */
  skip(): boolean {
    const end = valueEnd(this.input, this.start, this.#limit)
    if (end < 0) return this.#malformed()
    this.end = end
    this.#at = end
    return true
  }

  /** True if the name is `text`, which is ASCII. */
  isNamed(text: string): boolean {
    const { nameStart } = this
    const { bytes } = this.input
    if (this.nameEnd - nameStart !== text.length) return false
    for (let i = 0; i < text.length; i++) {
      if (bytes[nameStart + i] !== text.charCodeAt(i)) return false
    }
    return true
  }

  #begin(start: number, limit: number): void {
    const { bytes } = this.input
    const at = skipSpace(bytes, start, limit)
    const open = at < limit ? bytes[at] : 0
    this.#limit = limit
    this.#isFirst = true
    this.#close = open === openBrace ? closeBrace : closeBracket
    this.#isOpen = open === openBrace || open === openBracket
    this.#at = at + 1
    this.isMalformed = at >= limit
  }

  #malformed(): false {
    this.isMalformed = true
    this.#isOpen = false
    return false
  }
}

/** After the value at `start`; -1 if there is none, or if it does not end at or before `limit`. */
export function valueEnd(input: JsonInput, start: number, limit: number): number {
  const { bytes } = input
  let depth = 0
  let at = start
  while (at < limit) {
    const byte = bytes[at] as number
    if (byte === quote) {
      at = skipPlain(input.view, at + 1, limit)
      at = at < limit && bytes[at] === quote ? at + 1 : stringEnd(bytes, at, limit)
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
    } else if (depth === 0 && (byte === comma || byte <= 0x20)) {
      return at > start ? at : -1
    } else {
      at++
    }
  }
  return depth === 0 && at > start ? at : -1
}

function skipSpace(bytes: Uint8Array, start: number, limit: number): number {
  let at = start
  while (at < limit && (bytes[at] as number) <= 0x20) at++
  return at
}
