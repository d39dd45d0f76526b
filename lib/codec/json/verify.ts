/** Proves in one pass over stored JSON, without building anything, that the API server would serve
 *  it as it is but for resourceVersion and apiVersion, and notes where those go.
 *
 *  The server decodes a custom resource into maps, prunes and defaults it by its schema, and
 *  encodes it again: keys sorted, no whitespace, HTML-escaped, numbers and escapes in their one
 *  form. What a kube-apiserver stored has that form already, unless the schema has changed since.
 *  So the pass walks the text and a tree of `VerifyNode`s side by side, and stops at the first
 *  thing that the server might change; such an object is decoded instead (json/tree.ts). The text
 *  of an aggregated API server keeps the order of its Go structs, and is checked for its form only.
 *
 *  "Not proven" says nothing about the text: it may be malformed. Time is bounded by its length,
 *  and nothing is recursive. */

import { type MemberOrder, provenEnd } from './proven.ts'
import type { VerifyNode } from './verify-node.ts'
import { canonicalStringEnd, compareStrings, inputOf, type JsonInput } from '@watchglass/go'

/** Options of a pass. */
export interface VerifyOptions {
  readonly order: MemberOrder
  /** The object's members apart from apiVersion, kind and metadata; undefined leaves them alone. */
  readonly root: VerifyNode | undefined
  /** The members of metadata; undefined leaves them alone. */
  readonly metadata: VerifyNode | undefined
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d

/** The results of `#nextKey` that are no positions. */
const endOfObject = -1
const notProven = -2

/** Members that Go's ObjectMeta declares before resourceVersion. */
const beforeResourceVersion = ['name', 'generateName', 'namespace', 'selfLink', 'uid'].map(quoted)
const resourceVersion = quoted('resourceVersion')
const apiVersion = quoted('apiVersion')
const kind = quoted('kind')
const metadata = quoted('metadata')

const noBytes = new Uint8Array(0)

/** Keeps its findings until the next `verify`. Not re-entrant. */
export class JsonVerifier {
  /** The value of apiVersion, with its quotes; start is -1 if there is none. The same for kind. */
  apiVersionStart = -1
  apiVersionEnd = -1
  kindStart = -1
  kindEnd = -1
  /** The value of metadata.resourceVersion, with its quotes; start is -1 if there is none. */
  resourceVersionStart = -1
  resourceVersionEnd = -1
  /** Place for the member resourceVersion if there is none: before a key, or behind the last
   *  member. */
  insertAt = -1
  isInsertedLast = false
  isMetadataEmpty = false
  /** Window of the object, both braces included. */
  objectStart = -1
  objectEnd = -1

  #source: Uint8Array = noBytes
  /** Never a `Buffer`, whose windows are slower to make. */
  #bytes: Uint8Array = noBytes
  #input: JsonInput = inputOf(noBytes)
  #end = 0
  #at = 0
  #order: MemberOrder = 'sorted'
  /** The key that was read last, without its quotes. */
  #keyStart = 0
  #keyEnd = 0

  /** Input that was verified last: positions are in its bytes. */
  get input(): JsonInput {
    return this.#input
  }

  /** True if `bytes[start..end)` is one object that is served as it is, apart from the members
   *  noted. */
  verify(bytes: Uint8Array, start: number, end: number, options: VerifyOptions): boolean {
    this.setInput(bytes)
    this.#at = start
    this.#end = end
    this.#order = options.order
    this.apiVersionStart = -1
    this.kindStart = -1
    this.resourceVersionStart = -1
    this.insertAt = -1
    if (start >= end || bytes[start] !== openBrace || !this.#root(options)) return false
    return this.insertAt >= 0 && this.endsAt(start, this.#at, end)
  }

  /** Notes where the object is; true if nothing but space comes between its end and `end`. */
  endsAt(objectStart: number, objectEnd: number, end: number): boolean {
    this.objectStart = objectStart
    this.objectEnd = objectEnd
    for (let i = objectEnd; i < end; i++) {
      if (!isSpace(this.#bytes[i] as number)) return false
    }
    return true
  }

  /** Objects share slabs, so the views of an array are kept for the next object; and hot loops see
   *  one kind of array. */
  setInput(bytes: Uint8Array): void {
    if (bytes === this.#source) return
    this.#source = bytes
    this.#input = inputOf(bytes)
    this.#bytes = this.#input.bytes
  }

  #root(options: VerifyOptions): boolean {
    let expected = options.root?.expectedCount ?? 0
    for (let key = this.#nextKey(-1); ; key = this.#nextKey(key)) {
      if (key < 0) return key === endOfObject && expected === 0
      const valueStart = this.#at
      if (this.#isKey(apiVersion)) {
        if (this.apiVersionStart >= 0 || !this.#string()) return false
        this.apiVersionStart = valueStart
        this.apiVersionEnd = this.#at
      } else if (this.#isKey(kind)) {
        if (this.kindStart >= 0 || !this.#string()) return false
        this.kindStart = valueStart
        this.kindEnd = this.#at
      } else if (this.#isKey(metadata)) {
        if (this.insertAt >= 0 || !this.#metadata(options.metadata)) return false
      } else {
        const child = this.#childOf(options.root)
        if (child === 'stop' || !this.#value(child)) return false
        if (child?.isExpected === true) expected--
      }
    }
  }

  #metadata(node: VerifyNode | undefined): boolean {
    if (this.#bytes[this.#at] !== openBrace) return false
    let expected = node?.expectedCount ?? 0
    let count = 0
    let key = this.#nextKey(-1)
    for (; key >= 0; key = this.#nextKey(key)) {
      count++
      if (this.#isKey(resourceVersion)) {
        if (this.resourceVersionStart >= 0) return false
        this.resourceVersionStart = this.#at
        if (!this.#string()) return false
        this.resourceVersionEnd = this.#at
        continue
      }
      if (this.insertAt < 0 && this.#isBehindResourceVersion()) {
        this.insertAt = key - 1
        this.isInsertedLast = false
      }
      const child = this.#childOf(node)
      if (child === 'stop' || !this.#value(child)) return false
      if (child?.isExpected === true) expected--
    }
    if (key !== endOfObject || expected !== 0) return false
    if (this.insertAt < 0) {
      this.insertAt = this.#at - 1
      this.isInsertedLast = true
      this.isMetadataEmpty = count === 0
    }
    return true
  }

  #isBehindResourceVersion(): boolean {
    if (this.#order === 'declared') return !beforeResourceVersion.some(name => this.#isKey(name))
    return isKeyAbove(this.#bytes, this.#keyStart, resourceVersion)
  }

  /** Steps over a member's value. */
  #value(node: VerifyNode | undefined): boolean {
    const isNull = this.#at < this.#end && this.#bytes[this.#at] === 0x6e
    if (isNull && node !== undefined && !node.isNullable) return false
    this.#at = provenEnd(this.#input, this.#at, this.#end, node ?? this.#order)
    return this.#at >= 0
  }

  /** The node of the member whose key was read last. Undefined is free; a member that would be
   *  pruned is a stop. */
  #childOf(node: VerifyNode | undefined): VerifyNode | undefined | 'stop' {
    if (node === undefined) return undefined
    if (node.table !== undefined) {
      const named = node.table.find(this.#input, this.#keyStart, this.#keyEnd)
      if (named !== undefined) return named
    }
    if (node.additional !== undefined) return node.additional
    return node.isPreserving ? undefined : 'stop'
  }

  /** Steps over what comes before a member's value: the opening brace (`previous` is -1) or a
   *  comma, the key, the colon. Answers where the key begins, behind its quote; or that the object
   *  has ended; or that its order or form is not proven. */
  #nextKey(previous: number): number {
    const bytes = this.#bytes
    const end = this.#end
    let at = this.#at
    if (at >= end) return notProven
    if (previous >= 0) {
      if (bytes[at] === closeBrace) {
        this.#at = at + 1
        return endOfObject
      }
      if (bytes[at] !== comma) return notProven
    } else if (at + 1 < end && bytes[at + 1] === closeBrace) {
      this.#at = at + 2
      return endOfObject
    }
    if (++at >= end || bytes[at] !== quote) return notProven
    const start = at + 1
    const after = canonicalStringEnd(this.#input, start, end)
    if (after < 0 || after >= end || bytes[after] !== colon) return notProven
    if (this.#order === 'sorted' && previous >= 0 && compareStrings(bytes, previous, start) >= 0) {
      return notProven
    }
    this.#keyStart = start
    this.#keyEnd = after - 1
    this.#at = after + 1
    return start
  }

  #isKey(name: Uint8Array): boolean {
    const start = this.#keyStart
    if (this.#keyEnd - start !== name.length - 1) return false
    for (let i = 0; i < name.length; i++) {
      if (this.#bytes[start + i] !== name[i]) return false
    }
    return true
  }

  #string(): boolean {
    if (this.#at >= this.#end || this.#bytes[this.#at] !== quote) return false
    const end = canonicalStringEnd(this.#input, this.#at + 1, this.#end)
    if (end < 0) return false
    this.#at = end
    return true
  }
}

/** Compares the key at `start` with a name. Both end with a quote, which is below whatever stands
 *  in the name. */
function isKeyAbove(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) {
    const difference = (bytes[start + i] as number) - (name[i] as number)
    if (difference !== 0) return difference > 0
  }
  return false
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** A key as it stands in text, with its closing quote. */
function quoted(name: string): Uint8Array {
  return Buffer.from(`${name}"`)
}
