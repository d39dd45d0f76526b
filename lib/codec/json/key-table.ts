/** Looks object keys up by their bytes, so that a scanner makes no string for each key. */

import { latin1FromBytes } from '@watchglass/base'
import type { JsonInput } from '@watchglass/go'

/** A key that shares its place with more others than this was chosen to: schemas have tens of
 *  thousands of keys, and so have the objects that are looked up. */
const sharedMax = 64

/** A fixed set of keys, each with a value. Open addressing, at most half full. */
export class KeyTable<Value> {
  readonly #mask: number
  readonly #slots: (Slot<Value> | undefined)[]
  /** All keys, one character for each byte, where too many share a place: V8's hashes cannot be
   *  foreseen. */
  #byText: Map<string, Value> | undefined

  constructor(entries: Iterable<readonly [string, Value]>) {
    const list = [...entries].map(([key, value]) => [Buffer.from(key), value] as const)
    let size = 4
    while (size < list.length * 2) size *= 2
    this.#mask = size - 1
    this.#slots = Array.from<undefined>({ length: size }).fill(undefined)
    for (const [key, value] of list) {
      let place = hashOf(key, 0, key.length) & this.#mask
      let shared = 0
      while (this.#slots[place] !== undefined) {
        place = (place + 1) & this.#mask
        shared++
      }
      if (shared > sharedMax) {
        this.#byText = new Map(list.map(([text, one]) => [text.toString('latin1'), one]))
        return
      }
      const words = Array.from({ length: key.length >> 2 }, (_, i) => key.readInt32LE(4 * i))
      const rest = new Uint8Array(key.subarray(4 * words.length))
      this.#slots[place] = { length: key.length, words: Int32Array.from(words), rest, value }
    }
  }

  /** The value of the key from `start` to `end`. */
  find({ bytes, view }: JsonInput, start: number, end: number): Value | undefined {
    if (this.#byText !== undefined) return this.#byText.get(latin1FromBytes(bytes, start, end))
    let place = hashOf(bytes, start, end) & this.#mask
    for (;;) {
      const slot = this.#slots[place]
      if (slot === undefined) return undefined
      if (slot.length === end - start && isSame(slot, view, start)) return slot.value
      place = (place + 1) & this.#mask
    }
  }
}

/** A key in pieces of four bytes, and up to three more. */
interface Slot<Value> {
  readonly length: number
  readonly words: Int32Array
  readonly rest: Uint8Array
  readonly value: Value
}

/** A hash of a few bytes. It mostly differs between the names of one schema; keys are compared in
 *  any case. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0
  const middle = bytes[(start + end) >>> 1] as number
  const last = bytes[end - 1] as number
  const beforeLast = bytes[Math.max(start, end - 2)] as number
  const hash = (bytes[start] as number) + 31 * middle + 131 * last + 257 * beforeLast + end - start
  return hash ^ (hash >>> 7)
}

function isSame({ words, rest }: Slot<unknown>, view: DataView, start: number): boolean {
  let at = start
  for (let i = 0; i < words.length; i++, at += 4) {
    if (words[i] !== view.getInt32(at, true)) return false
  }
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] !== view.getUint8(at + i)) return false
  }
  return true
}
