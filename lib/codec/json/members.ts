/** Steps over the members of JSON objects and the items of JSON lists without decoding them: windows of bytes, one after the
 *  other. Stored JSON is compact and its names have no escapes, because Go wrote it; other text is stepped over as
 *  well, but a name with an escape in it matches nothing. */

const quote = 0x22
const backslash = 0x5c

/** A cursor over one object or list. Meant to be kept and `reset`.
 *
 *      members.reset(bytes, start, end)
 *      while (members.next()) use(members.nameStart, members.nameEnd, members.start, members.end)
 *      if (members.isMalformed) ... */
export class JsonMembers {
  bytes: Uint8Array = new Uint8Array(0)
  /** The name without its quotes; empty for the items of a list. */
  nameStart = 0
  nameEnd = 0
  /** The value. */
  start = 0
  end = 0
  isMalformed = false
  #at = 0
  #limit = 0
  #isObject = false
  #isFirst = true
  #isOpen = false

  /** Begins with the object or list that begins at `start`. Anything else has no members. */
  reset(bytes: Uint8Array, start: number, limit: number): void {
    this.bytes = bytes
    this.#limit = limit
    this.isMalformed = false
    this.#isFirst = true
    const at = skipSpace(bytes, start, limit)
    const open = at < limit ? bytes[at] : 0
    this.#isObject = open === 0x7b
    this.#isOpen = open === 0x7b || open === 0x5b
    this.#at = this.#isOpen ? at + 1 : limit
    this.isMalformed = at >= limit
  }

  /** Goes to the next member or item; false at the end, and when the text is malformed. */
  next(): boolean {
    const { bytes } = this
    const limit = this.#limit
    let at = skipSpace(bytes, this.#at, limit)
    if (at >= limit) return this.#isOpen && this.#malformed()
    const byte = bytes[at]
    if (byte === 0x7d || byte === 0x5d) {
      this.#isOpen = false
      this.#at = limit
      return false
    }
    if (!this.#isFirst) {
      if (byte !== 0x2c) return this.#malformed()
      at = skipSpace(bytes, at + 1, limit)
    }
    this.#isFirst = false
    if (this.#isObject) {
      if (bytes[at] !== quote) return this.#malformed()
      this.nameStart = at + 1
      at = skipString(bytes, at, limit)
      this.nameEnd = at - 1
      at = skipSpace(bytes, at, limit)
      if (at >= limit || bytes[at] !== 0x3a) return this.#malformed()
      at = skipSpace(bytes, at + 1, limit)
    }
    this.start = at
    this.end = skipValue(bytes, at, limit)
    if (this.end > limit || this.end === at) return this.#malformed()
    this.#at = this.end
    return true
  }

  /** True if the name is `text`, which is ASCII. */
  isNamed(text: string): boolean {
    const { bytes, nameStart } = this
    if (this.nameEnd - nameStart !== text.length) return false
    for (let i = 0; i < text.length; i++) {
      if (bytes[nameStart + i] !== text.charCodeAt(i)) return false
    }
    return true
  }

  #malformed(): false {
    this.isMalformed = true
    this.#isOpen = false
    this.#at = this.#limit
    return false
  }
}

/** After the value at `start`; beyond `limit` if it does not end before. */
export function skipValue(bytes: Uint8Array, start: number, limit: number): number {
  const first = start < limit ? (bytes[start] as number) : 0
  if (first === quote) return skipString(bytes, start, limit)
  if (first !== 0x7b && first !== 0x5b) return skipLiteral(bytes, start, limit)
  let depth = 0
  let at = start
  while (at < limit) {
    const byte = bytes[at] as number
    if (byte === quote) {
      at = skipString(bytes, at, limit)
      continue
    }
    at++
    // Brackets and braces differ from each other in one bit only.
    if ((byte | 0x20) === 0x7b) depth++
    else if ((byte | 0x20) === 0x7d && --depth === 0) return at
  }
  return limit + 1
}

function skipString(bytes: Uint8Array, start: number, limit: number): number {
  for (let at = start + 1; at < limit; at++) {
    const byte = bytes[at] as number
    if (byte === quote) return at + 1
    if (byte === backslash) at++
  }
  return limit + 1
}

function skipLiteral(bytes: Uint8Array, start: number, limit: number): number {
  let at = start
  while (at < limit) {
    const byte = bytes[at] as number
    if (byte <= 0x20 || byte === 0x2c || byte === 0x5d || byte === 0x7d) break
    at++
  }
  return at
}

function skipSpace(bytes: Uint8Array, start: number, limit: number): number {
  let at = start
  while (at < limit && (bytes[at] as number) <= 0x20) at++
  return at
}
