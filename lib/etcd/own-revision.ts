/** The revision of an etcd that runs in this process, in memory that all threads share. It is
 *  written before a write is acknowledged, so whoever reads it after that reads at least the
 *  write's revision: what a linearizable request would say, without a request. */

import type { Revision } from '@watchglass/base'

export class OwnRevision {
  /** Can be sent to threads. */
  readonly memory: SharedArrayBuffer
  readonly #words: BigInt64Array

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#words = new BigInt64Array(memory)
  }

  get revision(): Revision {
    // It was one when it was written.
    return Number(Atomics.load(this.#words, 0)) as Revision
  }

  /** Only for the etcd itself. */
  set(revision: Revision): void {
    Atomics.store(this.#words, 0, BigInt(revision))
  }
}
