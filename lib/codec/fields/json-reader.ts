/** Fields of JSON objects by path, without parsing the rest: the counterpart of reader.ts for
 *  custom resources.
 *
 *  One walk along the paths notes where values begin and end. What lies beside them is skipped by
 *  its brackets and quotes, and not checked: whether a text is what the API would serve is the
 *  business of custom.ts. Of equal keys the last wins. */

import { canonicalNumber, decodeString, inputOf } from '@watchglass/go'
import { KeyTable } from '../json/key-table.ts'
import { JsonMembers } from '../json/members.ts'
import { textFromBytes } from '@watchglass/base'

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
  /** By depth, the objects that are walked. */
  readonly #cursors: JsonMembers[] = [new JsonMembers()]

  /** Slots are numbered as the paths are. */
  constructor(paths: readonly JsonPath[]) {
    this.#places = paths.map(path => paths.findIndex(other => isSamePath(path, other)))
    const placed = paths.map((path, slot) => ({ path, slot }))
    this.#root = tableOf(placed.filter(({ slot }) => this.#places[slot] === slot))
    this.#starts = new Int32Array(paths.length)
    this.#ends = new Int32Array(paths.length)
  }

  /** Reads the object in `bytes[start..end)`. False if the parts that were visited are malformed;
   *  then every value is absent. */
  readStored(bytes: Uint8Array, start: number, end: number): boolean {
    const [outermost] = this.#cursors as [JsonMembers]
    this.#starts.fill(0)
    this.#ends.fill(0)
    outermost.reset(bytes, start, end)
    if (outermost.isObject && this.#walk(this.#root, 0)) return true
    this.#ends.fill(0)
    return false
  }

  has(slot: number): boolean {
    return this.#endOf(slot) !== 0
  }

  /** A scalar as text: the content of a string, `true`, `false`, a number as Go writes it. '' for
   *  whatever else there is. */
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

  #eachMember(slot: number, take: (name: string, start: number, end: number) => void): void {
    const end = this.#endOf(slot)
    if (end === 0) return
    members.reset(this.#bytes, this.#startOf(slot), end)
    if (!members.isObject) return
    while (members.next()) {
      take(this.#string(members.nameStart - 1, members.nameEnd + 1), members.start, members.end)
    }
  }

  #textOrEmpty(start: number, end: number): string {
    return this.#bytes[start] === quote ? this.#string(start, end) : ''
  }

  #string(start: number, end: number): string {
    return decodeString(this.#bytes, start + 1, end - 1) ?? ''
  }

  get #bytes(): Uint8Array {
    return (this.#cursors[0] as JsonMembers).bytes
  }

  /** Walks the object that the cursor of this depth stands before. False if it is malformed. */
  #walk(table: KeyTable<Branch>, depth: number): boolean {
    const object = this.#cursors[depth] as JsonMembers
    while (object.nextName()) {
      const branch = this.#find(table, object)
      if (branch === undefined) {
        if (!object.skip()) return false
        continue
      }
      // Of a repeated key only the last value counts.
      for (const slot of branch.inner) this.#ends[slot] = 0
      if (!this.#take(branch, object, depth + 1)) return false
      if (branch.slot < 0) continue
      this.#starts[branch.slot] = object.start
      this.#ends[branch.slot] = object.end
    }
    return !object.isMalformed
  }

  /** Goes through a value, or behind it if nothing in it is asked for. */
  #take({ child }: Branch, object: JsonMembers, depth: number): boolean {
    if (child === undefined) return object.skip()
    const inner = (this.#cursors[depth] ??= new JsonMembers())
    inner.enter(object)
    if (!inner.isObject) return object.skip()
    return this.#walk(child, depth) && object.leave(inner)
  }

  #find(
    table: KeyTable<Branch>,
    { input, nameStart, nameEnd, isNamePlain }: JsonMembers,
  ): Branch | undefined {
    if (isNamePlain) return table.find(input, nameStart, nameEnd)
    const bytes = new TextEncoder().encode(this.#string(nameStart - 1, nameEnd + 1))
    return table.find(inputOf(bytes), 0, bytes.length)
  }
}

/** The members of one of the values. */
const members = new JsonMembers()

const quote = 0x22
const openBrace = 0x7b
const openBracket = 0x5b

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
