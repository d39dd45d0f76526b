/** The names of shared slabs. Only slabs travel between threads as objects, each once; entries name
 *  them by number.
 *
 *  A slab lives as long as a value in it is held in some thread. The thread that writes the slabs
 *  notices when nothing there holds one any more; then no record can name it again, and the others
 *  are told, in order with the records, to forget the number. */

import { assert } from '@watchglass/base'
import { countShared } from '@watchglass/store'

/** In the thread with the mirrors: gives each shared slab a number. */
export class SlabNames {
  readonly #ids = new WeakMap<Uint8Array, number>()
  readonly #buffers = new Map<number, WeakRef<Uint8Array>>()
  readonly #retired = new FinalizationRegistry<number>(id => {
    assert(this.#buffers.delete(id), 'a slab is let go of once')
    this.#onRetired(id)
  })
  readonly #onRetired: (id: number) => void
  #last = 0

  /** `onRetired` is called when nothing holds a slab any more. */
  constructor(onRetired: (id: number) => void) {
    this.#onRetired = onRetired
  }

  /** Undefined for memory that is not shared. */
  idOf(bytes: Uint8Array): number | undefined {
    const known = this.#ids.get(bytes)
    if (known !== undefined || !(bytes.buffer instanceof SharedArrayBuffer)) return known
    const id = ++this.#last
    this.#ids.set(bytes, id)
    this.#buffers.set(id, new WeakRef(bytes))
    this.#retired.register(bytes, id)
    return id
  }

  /** The memory of a slab that is still held. */
  memoryOf(id: number): SharedArrayBuffer | undefined {
    return this.#buffers.get(id)?.deref()?.buffer as SharedArrayBuffer | undefined
  }
}

/** In a worker: the slabs by their numbers. */
export class SlabShelf {
  readonly #slabs = new Map<number, Buffer>()
  readonly #ids = new WeakMap<Uint8Array, number>()
  readonly #receive: () => void

  /** `receive` takes in all slabs that have been sent: they come another way than the records, and
   *  may be late to be seen. */
  constructor(receive: () => void) {
    this.#receive = receive
  }

  get size(): number {
    return this.#slabs.size
  }

  add(id: number, memory: SharedArrayBuffer): void {
    const slab = countShared(Buffer.from(memory))
    this.#slabs.set(id, slab)
    this.#ids.set(slab, id)
  }

  /** The number of a slab; undefined for memory of this thread alone. */
  idOf(slab: Uint8Array): number | undefined {
    return this.#ids.get(slab)
  }

  slab(id: number): Buffer {
    const known = this.#slabs.get(id)
    if (known !== undefined) return known
    this.#receive()
    const received = this.#slabs.get(id)
    if (received === undefined) throw new Error(`slab ${id} was not sent`)
    return received
  }

  forget(id: number): void {
    if (!this.#slabs.has(id)) this.#receive()
    this.#slabs.delete(id)
  }
}
