/** Items that all have the same timeout, in the order in which they expire: one timer for all of
 *  them, and O(1) to add or remove one. */

import type { CancelTimer, Clock } from '@watchglass/base'

/** An item of the list. Only the list writes these fields. */
export abstract class Perishable {
  deadlineMs = 0
  listed = false
  previous: Perishable | undefined = undefined
  next: Perishable | undefined = undefined
}

export class DeadlineList<T extends Perishable> {
  readonly #clock: Clock
  readonly #liveMs: number
  readonly #expired: (item: T) => void
  #first: T | undefined = undefined
  #last: T | undefined = undefined
  #size = 0
  #cancelTimer: CancelTimer | undefined = undefined

  constructor(clock: Clock, liveMs: number, expired: (item: T) => void) {
    this.#clock = clock
    this.#liveMs = liveMs
    this.#expired = expired
  }

  get size(): number {
    return this.#size
  }

  /** Adds the item, whose timeout begins now. */
  add(item: T): void {
    item.deadlineMs = this.#clock.monotonicMs() + this.#liveMs
    item.listed = true
    item.previous = this.#last
    item.next = undefined
    if (this.#last === undefined) this.#first = item
    else this.#last.next = item
    this.#last = item
    this.#size++
    this.#schedule()
  }

  /** Removes the item, if it is in the list. */
  remove(item: T): void {
    if (!item.listed) return
    const previous = item.previous as T | undefined
    const next = item.next as T | undefined
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    item.listed = false
    item.previous = undefined
    item.next = undefined
    this.#size--
  }

  /** Removes all items, in order. */
  takeAll(task: (item: T) => void): void {
    for (let item = this.#first; item !== undefined; item = this.#first) {
      this.remove(item)
      task(item)
    }
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  /** The timer is not changed when its item is removed early: it then fires in vain, and is set for
   *  the first remaining item. */
  #schedule(): void {
    if (this.#cancelTimer !== undefined || this.#first === undefined) return
    const delayMs = Math.max(0, this.#first.deadlineMs - this.#clock.monotonicMs())
    this.#cancelTimer = this.#clock.setTimer(delayMs, () => {
      this.#cancelTimer = undefined
      const nowMs = this.#clock.monotonicMs()
      for (let item = this.#first; item !== undefined; item = this.#first) {
        if (item.deadlineMs > nowMs) break
        this.remove(item)
        this.#expired(item)
      }
      this.#schedule()
    })
  }
}
