/** Slabs: a few large buffers that many values share. A value costs only its bytes, not an object, and never keeps the large message alive
 *  that it came in. */

import type { ValueWindow } from './event.ts'

/** Large enough that a million values are a few thousand objects for the collector, small enough that a single value which outlives its
 *  neighbours keeps little memory alive. */
export const slabBytes: number = 256 * 1024

/** A value above this gets a buffer of its own, which bounds what is left unused at the end of a slab to a quarter. */
const ownBufferMinBytes = slabBytes / 4

/** The window of a value without bytes. */
const emptyValue: ValueWindow = { bytes: new Uint8Array(0), start: 0, end: 0 }

/** Copies values into slabs, one after the other. A full slab is not referenced here any more, and lives as long as a value in it. */
export class SlabWriter {
  #slab: Uint8Array = emptyValue.bytes
  #used = 0

  /** A copy of `source` from `start` to `end`. */
  copy(source: Uint8Array, start = 0, end: number = source.length): ValueWindow {
    const length = end - start
    if (length === 0) return emptyValue
    if (length > ownBufferMinBytes) {
      return this.#place(Buffer.allocUnsafeSlow(length), 0, source.subarray(start, end))
    }
    if (this.#used + length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes)
      this.#used = 0
    }
    const at = this.#used
    this.#used += length
    return this.#place(this.#slab, at, source.subarray(start, end))
  }

  #place(slab: Uint8Array, at: number, value: Uint8Array): ValueWindow {
    slab.set(value, at)
    return { bytes: slab, start: at, end: at + value.length }
  }
}
