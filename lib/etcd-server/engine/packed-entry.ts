/** An entry that keeps only the difference of its value from another one. The value is made when it
 *  is read, and not kept: what is read often is kept as it is served (lib/store/segments.ts). To
 *  everybody else it is an entry whose value lies in a buffer of that size. */

import type { Key, Revision } from '@watchglass/base'
import type { KeyValue, KeyValueMeta, ValueWindow } from '@watchglass/store'
import { writeDifferent } from './value-difference.ts'

export interface Difference {
  readonly base: Uint8Array
  readonly window: ValueWindow
  /** That of the value. */
  readonly length: number
}

export class PackedEntry implements KeyValue {
  readonly key: Key
  readonly #base: Uint8Array
  #slab: Uint8Array
  #from: number
  #to: number
  readonly end: number
  readonly createRevision: Revision
  readonly modRevision: Revision
  readonly version: number
  readonly lease: bigint
  note = 0

  constructor(key: Key, { base, window, length }: Difference, meta: KeyValueMeta) {
    this.key = key
    this.#base = base
    this.#slab = window.bytes
    this.#from = window.start
    this.#to = window.end
    this.end = length
    this.createRevision = meta.createRevision
    this.modRevision = meta.modRevision
    this.version = meta.version
    this.lease = meta.lease
  }

  get start(): number {
    return 0
  }

  get bytes(): Uint8Array {
    if (last.entry !== this) {
      last.bytes = this.#unpack()
      last.entry = this
    }
    return last.bytes
  }

  get value(): Uint8Array {
    return this.bytes
  }

  get valueLength(): number {
    return this.end
  }

  get kept(): ValueWindow {
    return { bytes: this.#slab, start: this.#from, end: this.#to }
  }

  shareKey(key: Key): void {
    ;(this as { -readonly [K in 'key']: Key }).key = key
  }

  move({ bytes, start, end }: ValueWindow): void {
    this.#slab = bytes
    this.#from = start
    this.#to = end
  }

  #unpack(): Uint8Array {
    const { end } = this
    if (end > room.length - used) {
      room = Buffer.allocUnsafeSlow(Math.max(end, roomBytes))
      used = 0
    }
    const at = used
    used += end
    const difference = { bytes: this.#slab, start: this.#from }
    writeDifferent(room, { at, end: used }, this.#base, difference)
    return room.subarray(at, used)
  }
}

/** A value is read in several steps, and then that of another entry. */
const last: { entry: PackedEntry | undefined; bytes: Uint8Array } = {
  entry: undefined,
  bytes: Buffer.alloc(0),
}

/** Values that are read one after the other share a buffer, which nothing is written to again. */
const roomBytes = 64 * 1024
let room: Buffer = Buffer.alloc(0)
let used = 0
