/** The revisions that clients of this process have been shown, in whichever thread: for each feed
 *  the highest revision, for each mirror the epoch. A thread that is behind another waits before it
 *  answers, so that a client that moves from one thread to the other never sees time go back.
 *
 *  A new epoch begins with lower revisions, so its revisions have words of their own; those of the
 *  epoch before it stay for threads that have not heard of the new one yet. */

import type { Revision } from '@watchglass/base'

/** Words for each feed. An epoch ends with everything read again, so none is still in use when its
 *  word is taken by the fourth after it. */
const epochsKept = 4

export function createSeenRevisions(mirrorsMax: number, feedsMax: number): SharedArrayBuffer {
  return new SharedArrayBuffer(8 * (mirrorsMax + feedsMax * epochsKept))
}

export class SeenRevisions {
  readonly #words: BigInt64Array
  readonly #feedsFrom: number

  constructor(memory: SharedArrayBuffer, mirrorsMax: number) {
    this.#words = new BigInt64Array(memory)
    this.#feedsFrom = mirrorsMax
  }

  /** The newest epoch that any thread knows. */
  epoch(mirror: number): number {
    return Number(Atomics.load(this.#words, mirror))
  }

  /** Begins an epoch. Only the thread with the mirrors does. */
  startEpoch(mirror: number, epoch: number, feeds: readonly number[]): void {
    for (const feed of feeds) Atomics.store(this.#words, this.#wordOf(feed, epoch), 0n)
    Atomics.store(this.#words, mirror, BigInt(epoch))
  }

  /** The highest revision of a feed that any client may have seen in an epoch. */
  revision(feed: number, epoch: number): Revision {
    return Number(Atomics.load(this.#words, this.#wordOf(feed, epoch))) as Revision
  }

  /** Clients of this thread may see a revision from now on. */
  raise(feed: number, epoch: number, revision: Revision): void {
    const word = this.#wordOf(feed, epoch)
    const raised = BigInt(revision)
    for (;;) {
      const known = Atomics.load(this.#words, word)
      if (known >= raised) return
      if (Atomics.compareExchange(this.#words, word, known, raised) === known) return
    }
  }

  #wordOf(feed: number, epoch: number): number {
    return this.#feedsFrom + feed * epochsKept + (epoch % epochsKept)
  }
}
