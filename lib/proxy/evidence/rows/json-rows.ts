/** The rows of a stored JSON object: for every object in it, one number for the set of its members,
 *  their types, which of them are zero, and which API names they hold. There is no schema: a path
 *  is the names that lead there, and an object with very many different names is treated as a map
 *  with user-defined keys. */

import type { StoredValue } from '@watchglass/codec'
import { freeTexts } from './path-nodes.ts'
import type { NamesInOrder } from './names-in-order.ts'
import { mixed, type RowTable } from './row-table.ts'
import { nameHash, textClasses, textHash } from './text-classes.ts'

const zero = 1
const present = 2
const number = 4
const fraction = 8
const list = 16
const object = 32
const truth = 64
const absent = 128

const depthMax = 48

/** Objects at a path with more distinct member names than this are treated as a map. */
const namesMax = 128
/** At most this many paths are followed; objects at other paths are treated as maps. */
const pathsMax = 20_000

/** Members with user-defined keys, such as labels, and managedFields. */
const maps: readonly string[] = [
  'annotations',
  'binaryData',
  'data',
  'fieldsV1',
  'labels',
  'matchLabels',
  'nodeSelector',
  'stringData',
]
const hashOf = (text: string): number => {
  const bytes = Buffer.from(text)
  return textHash(bytes, 0, bytes.length)
}
const mapNames: ReadonlySet<number> = new Set(maps.map(hashOf))
const freeNames: ReadonlySet<number> = new Set([...freeTexts].map(hashOf))
const metadataName = hashOf('metadata')

export class JsonRows {
  readonly #rows: RowTable
  readonly #names: NamesInOrder
  /** The names that the objects at a path have had; undefined once it is taken for a map. */
  readonly #paths = new Map<number, Set<number> | undefined>()
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #end = 0
  #textClasses = 0
  #isMalformed = false
  /** Hash of the API names in the value read last; 0 without any. */
  #named = 0

  constructor(rows: RowTable, names: NamesInOrder) {
    this.#rows = rows
    this.#names = names
  }

  /** Adds the rows of a value that is a JSON object. False if it is none. */
  read({ bytes, start, end }: StoredValue): boolean {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
    this.#textClasses = 0
    this.#isMalformed = false
    this.#space()
    if (bytes[this.#at] !== 0x7b) return false
    this.#object(0x51ed_270b, true, 0)
    this.#space()
    const isWhole = !this.#isMalformed && this.#at === this.#end
    if (isWhole) this.#rows.add(mixed(this.#textClasses, 7), mixed(this.#textClasses, 11))
    this.#bytes = noBytes
    return isWhole
  }

  /** The state of the current value, whose name has the hash `name`: 0 in a map. */
  #value(path: number, name: number, isOrdered: boolean, depth: number): number {
    this.#named = 0
    if (this.#isMalformed || depth > depthMax) return this.#malformed()
    switch (this.#bytes[this.#at] as number) {
      case 0x7b:
        return object | this.#member(mixed(path, name), name, isOrdered, depth)
      case 0x5b:
        return list | this.#list(path, name, isOrdered, depth)
      case 0x22:
        return this.#text(path, name, isOrdered)
      case 0x74:
        return this.#word(4, truth | present)
      case 0x66:
        return this.#word(5, truth | zero)
      case 0x6e:
        return this.#word(4, absent)
      default:
        return this.#number()
    }
  }

  #member(path: number, name: number, isOrdered: boolean, depth: number): number {
    return this.#object(path, isOrdered && name !== metadataName, depth, mapNames.has(name))
  }

  /** Adds the row of an object; whether it is empty. */
  #object(path: number, isOrdered: boolean, depth: number, isOpen = false): number {
    let low = path
    let high = ~path
    this.#at++
    this.#space()
    if (this.#bytes[this.#at] === 0x7d) {
      this.#at++
      return zero
    }
    let states = 0
    for (;;) {
      const start = this.#at + 1
      if (!this.#skipText()) return this.#malformed()
      const name = textHash(this.#bytes, start, this.#at - 1)
      this.#space()
      if (this.#bytes[this.#at++] !== 0x3a) return this.#malformed()
      this.#space()
      const isMap = isOpen || this.#isMap(path, name)
      const state = this.#value(path, isMap ? 0 : name, isOrdered, depth + 1)
      if (isMap) states |= state
      else {
        low = mixed(low, name ^ Math.imul(state, 0x0101) ^ this.#named)
        high = mixed(high, Math.imul(name, 0x1b87_3593) ^ state ^ ~this.#named)
      }
      this.#space()
      const next = this.#bytes[this.#at++]
      if (next === 0x7d) break
      if (next !== 0x2c || this.#isMalformed) return this.#malformed()
      this.#space()
    }
    this.#named = 0
    this.#rows.add(mixed(low, states), mixed(high, ~states))
    return present
  }

  #list(path: number, name: number, isOrdered: boolean, depth: number): number {
    this.#at++
    this.#space()
    if (this.#bytes[this.#at] === 0x5d) {
      this.#at++
      return zero
    }
    let states = present
    let named = 0
    for (;;) {
      states |= this.#value(path, name, isOrdered, depth + 1) << 8
      named = (named + this.#named) | 0
      this.#space()
      const next = this.#bytes[this.#at++]
      if (next === 0x5d) break
      if (next !== 0x2c || this.#isMalformed) return this.#malformed()
      this.#space()
    }
    this.#named = named
    return states
  }

  /** True if the object at `path` has user-defined keys. */
  #isMap(path: number, name: number): boolean {
    let names = this.#paths.get(path)
    if (names === undefined) {
      if (this.#paths.has(path) || this.#paths.size >= pathsMax) return true
      this.#paths.set(path, (names = new Set()))
    }
    names.add(name)
    if (names.size <= namesMax) return false
    this.#paths.set(path, undefined)
    return true
  }

  #text(path: number, name: number, isOrdered: boolean): number {
    const start = this.#at + 1
    if (!this.#skipText()) return this.#malformed()
    const end = this.#at - 1
    this.#textClasses |= textClasses(this.#bytes, start, end)
    if (name === 0 || freeNames.has(name)) return start === end ? zero : present
    this.#named = nameHash(this.#bytes, start, end)
    if (this.#named !== 0 && isOrdered) this.#names.add(path, name, this.#named)
    return start === end ? zero : present
  }

  /** Skips a string. */
  #skipText(): boolean {
    if (this.#bytes[this.#at++] !== 0x22) return false
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at++]
      if (byte === 0x22) return true
      if (byte === 0x5c) this.#at++
    }
    return false
  }

  #word(length: number, state: number): number {
    this.#at += length
    return this.#at > this.#end ? this.#malformed() : state
  }

  #number(): number {
    const start = this.#at
    let isZero = true
    let state = number
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at] as number
      if (byte === 0x2e || byte === 0x65 || byte === 0x45) state |= fraction
      else if (byte >= 0x31 && byte <= 0x39) isZero = false
      else if (byte !== 0x30 && byte !== 0x2d && byte !== 0x2b) break
      this.#at++
    }
    if (this.#at === start) return this.#malformed()
    return isZero ? state | zero : state | present
  }

  #space(): void {
    while (this.#at < this.#end) {
      const byte = this.#bytes[this.#at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.#at++
    }
  }

  #malformed(): number {
    this.#isMalformed = true
    this.#at = this.#end
    return 0
  }
}

const noBytes = new Uint8Array(0)
