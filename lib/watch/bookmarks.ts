/** When each watcher is due a bookmark: about once a minute, and shortly before its end, so that its client can go on from a recent
 *  revision even where nothing has changed. Whether a bookmark can be told then is the caller's to decide. */

import { Heap } from '../base/heap.ts'
import { type Random, randomInt } from '../base/random.ts'

/** As kube-apiserver. Clients rely on no interval, only on there being one. */
const intervalMs = 60_000
/** Spread, so that thousands of watches that began together are not due together. */
const jitterMs = 5_000
/** Enough for a progress request and its answer, before the watch's time is up. */
const beforeEndMs = 2_000

interface Due<W> {
  readonly atMs: number
  readonly watcher: W
  readonly endsAtMs: number
  isCancelled: boolean
}

export class Bookmarks<W> {
  readonly #random: Random
  readonly #due = new Heap<Due<W>>((a, b) => a.atMs - b.atMs)
  readonly #byWatcher = new Map<W, Due<W>>()

  constructor(random: Random) {
    this.#random = random
  }

  /** Adds a watcher that ends at `endsAtMs`. */
  add(watcher: W, nowMs: number, endsAtMs: number): void {
    const regularMs = nowMs + intervalMs - randomInt(this.#random, 0, jitterMs)
    const lastMs = endsAtMs - beforeEndMs
    const atMs = nowMs < lastMs ? Math.min(regularMs, lastMs) : Infinity
    const due = { atMs, watcher, endsAtMs, isCancelled: false }
    this.#byWatcher.set(watcher, due)
    if (atMs !== Infinity) this.#due.add(due)
  }

  delete(watcher: W): void {
    const due = this.#byWatcher.get(watcher)
    if (due !== undefined) due.isCancelled = true
    this.#byWatcher.delete(watcher)
  }

  /** When the next watcher is due; `undefined` when none is. */
  nextMs(): number | undefined {
    this.#dropCancelled()
    return this.#due.first?.atMs
  }

  /** The watchers that are due by now. Each is due again after another interval. */
  take(nowMs: number): W[] {
    const watchers: W[] = []
    for (;;) {
      this.#dropCancelled()
      const first = this.#due.first
      if (first === undefined || first.atMs > nowMs) return watchers
      this.#due.take()
      watchers.push(first.watcher)
      this.add(first.watcher, nowMs, first.endsAtMs)
    }
  }

  #dropCancelled(): void {
    while (this.#due.first?.isCancelled === true) this.#due.take()
  }
}
