/** Has V8 collect memory that threads share, once this thread has let go of much of it.
 *
 *  V8 collects sooner the more memory there is outside of its heap, but does not count what is
 *  shared between threads: a thread with little else to do would keep what it has let go of for
 *  hours. So it takes as much memory of its own, which V8 counts. That is never written, so that it
 *  costs addresses and no memory. It is given back after two full collections: the first may have
 *  begun before the thread let go.
 *
 *  That is for memory of which we say ourselves when we let go: a cache that is emptied at night is
 *  no news for V8 otherwise, as nothing else is allocated. Slabs live as long as some value in
 *  them, which only V8 knows: they are counted while they live (lib/store/slab.ts). */

import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks'

/** The bytes that are released before V8 is told: the allocator maps more than 32 MiB by itself,
 *  and gives it back to the system. */
const stepBytes = 33 * 1024 * 1024

export class ReleasedMemory {
  readonly #observer: PerformanceObserver
  #bytes = 0
  #sinceCollection: Buffer[] = []
  #before: Buffer[] = []

  constructor() {
    this.#observer = new PerformanceObserver(list => {
      for (const entry of list.getEntries()) if (isFull(entry)) this.#collected()
    })
  }

  /** Bytes that V8 was told of and has not collected yet. */
  get pendingBytes(): number {
    return (this.#sinceCollection.length + this.#before.length) * stepBytes
  }

  /** Counts bytes of shared memory that nothing here holds any more. */
  add(bytes: number): void {
    this.#bytes += bytes
    for (; this.#bytes >= stepBytes; this.#bytes -= stepBytes) {
      if (this.pendingBytes === 0) this.#observer.observe({ entryTypes: ['gc'] })
      this.#sinceCollection.push(Buffer.allocUnsafeSlow(stepBytes))
    }
  }

  #collected(): void {
    this.#before = this.#sinceCollection
    this.#sinceCollection = []
    if (this.#before.length === 0) this.#observer.disconnect()
  }
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail }
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
