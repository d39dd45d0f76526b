/** Slabs: a few large buffers that many values share. A value costs only its bytes, not an object,
 *  and never keeps the large message alive that it came in. */

import { assert } from '@watchglass/base'
import type { ValueWindow } from './event.ts'

/** Large enough that a million values are a few thousand objects for the collector, small enough
 *  that a single value which outlives its neighbours keeps little memory alive. */
export const slabBytes: number = 256 * 1024

/** A value above this gets a buffer of its own, which bounds what is left unused at the end of a
 *  slab to a quarter. */
const ownBufferMinBytes = slabBytes / 4

let areShared = false
/** Allocates private memory, until `shareSlabs`. */
let allocate: (bytes: number) => Buffer = bytes => Buffer.allocUnsafeSlow(bytes)

/** True after `shareSlabs`: other threads read values where they lie, so they have to lie whole. */
export function slabsAreShared(): boolean {
  return areShared
}

/** Slabs lie in memory that all threads of the process can read, from now on: the workers have
 *  values in no other place (lib/workers). For the start of a process that has such threads. */
export function shareSlabs(): void {
  areShared = true
  allocate = bytes => countShared(Buffer.from(new SharedArrayBuffer(bytes)))
}

let heldBytes = 0
const freed = new FinalizationRegistry<number>(bytes => {
  assert(bytes <= heldBytes, 'a slab is freed once')
  heldBytes -= bytes
})

/** The memory of all slabs of this thread that something holds, or that have not been collected
 *  yet. */
export function heldSlabBytes(): number {
  return heldBytes
}

function newSlab(bytes: number): Buffer {
  const slab = allocate(bytes)
  heldBytes += bytes
  freed.register(slab, bytes)
  return slab
}

const counted = new WeakMap<Buffer, ArrayBuffer>()
/** Each buffer that is counted may be a mapping of its own, and the system allows a process 65,530
 *  of them: with a buffer for each slab eight threads over three gigabytes would reach that, and V8
 *  ends the process then. So one slab in four stands for the others. */
const countedBytes = 4 * slabBytes
let uncountedBytes = 0

/** Has the collector count memory that threads share, for as long as this thread holds it here. V8
 *  leaves it out, so a thread that makes little other garbage would keep slabs that nothing holds
 *  until it happens to collect: 6 MB of changes a second made the process grow by 6 MB a second.
 *
 *  Beside such memory live buffers of the same size, which V8 counts. Nobody writes to them, and
 *  they can be resized: such a buffer has pages of its own, for which the system has no memory
 *  until they are written. */
export function countShared(slab: Buffer): Buffer {
  uncountedBytes += slab.length
  if (uncountedBytes < countedBytes) return slab
  const size = { maxByteLength: uncountedBytes }
  counted.set(slab, Reflect.construct(ArrayBuffer, [uncountedBytes, size]) as ArrayBuffer)
  uncountedBytes = 0
  return slab
}

/** The window of a value without bytes. */
const emptyBuffer: Buffer = Buffer.alloc(0)
const emptyValue: ValueWindow = { bytes: emptyBuffer, start: 0, end: 0 }

/** Copies values into slabs, one after the other. A full slab is not referenced here any more, and
 *  lives as long as a value in it. */
export class SlabWriter {
  #slab: Buffer = emptyBuffer
  #used = 0

  /** A copy of `source` from `start` to `end`. */
  copy(source: Uint8Array, start = 0, end: number = source.length): ValueWindow {
    const length = end - start
    if (length === 0) return emptyValue
    if (length > ownBufferMinBytes) return this.copyApart(source.subarray(start, end))
    if (this.#used + length > this.#slab.length) {
      this.#slab = newSlab(slabBytes)
      this.#used = 0
    }
    const at = this.#used
    this.#used += length
    return this.#place(this.#slab, at, source.subarray(start, end))
  }

  /** A copy in a buffer of its own, which keeps no other value alive. */
  copyApart(value: Uint8Array): ValueWindow {
    return this.#place(newSlab(value.length), 0, value)
  }

  #place(slab: Buffer, at: number, value: Uint8Array): ValueWindow {
    assert(at + value.length <= slab.length, 'a value lies in one slab')
    // `set` copies into shared memory byte by byte, ten times as slowly (Node 20).
    slab.fill(value, at, at + value.length)
    return { bytes: slab, start: at, end: at + value.length }
  }
}
