/** A timer for each of many keys, all of which are cancelled at the end. */

import type { CancelTimer, Clock, Key } from '@watchglass/base'

export class KeyedTimers {
  readonly #clock: Clock
  readonly #timers = new Map<Key, CancelTimer>()
  #isStopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(key: Key): boolean {
    return this.#timers.has(key)
  }

  /** Does something later, and not what was to be done for the key. */
  set(key: Key, delayMs: number, task: () => void): void {
    this.cancel(key)
    if (this.#isStopped) return
    const cancel = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(key)
      task()
    })
    this.#timers.set(key, cancel)
  }

  cancel(key: Key): void {
    this.#timers.get(key)?.()
    this.#timers.delete(key)
  }

  /** No timer is set any more: work that ends later must not keep the process alive. */
  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
  }
}
