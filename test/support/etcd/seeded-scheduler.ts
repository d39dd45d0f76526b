/** Delivers the engine's messages in an order that a seed decides, and holds back what a simulation
 *  wants held back. */

import type { Random } from '../../../lib/base/random.ts'
import type { Lane, Scheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { Ring } from '../../../lib/store/ring.ts'

/** Delivers what the seed says: each step, the first message of a lane chosen at random. The same
 *  seed and the same calls give the same deliveries. */
export class SeededScheduler implements Scheduler {
  readonly #random: Random
  /** Lanes with messages that are not held back, in no order. */
  readonly #ready: SeededLane[] = []

  constructor(random: Random) {
    this.#random = random
  }

  createLane(): SeededLane {
    return new SeededLane(this.#ready)
  }

  /** Number of lanes with something to deliver. */
  get readyLanes(): number {
    return this.#ready.length
  }

  /** Delivers one message; false when there was none. */
  step(): boolean {
    const { length } = this.#ready
    if (length === 0) return false
    const lane = this.#ready[length === 1 ? 0 : Math.floor(this.#random.next() * length)]
    lane?.deliver()
    return true
  }
}

/** A lane of a `SeededScheduler`, which a simulation may hold back. Most lanes are for one call and
 *  never have more than one message waiting, so that one has a place of its own. */
export class SeededLane implements Lane {
  readonly #ready: SeededLane[]
  /** The message that comes next. */
  #first: (() => void) | undefined = undefined
  /** Those after it. */
  #rest: Ring<() => void> | undefined = undefined
  /** Index of this lane among the ready ones; -1 when it is not. */
  #index = -1
  #isHeld = false
  #isClosed = false

  constructor(ready: SeededLane[]) {
    this.#ready = ready
  }

  /** Number of messages that wait. */
  get waiting(): number {
    return this.#first === undefined ? 0 : 1 + (this.#rest?.size ?? 0)
  }

  post(task: () => void): void {
    if (this.#isClosed) return
    if (this.#first === undefined) {
      this.#first = task
      this.#update()
    } else {
      this.#rest ??= new Ring()
      this.#rest.push(task)
    }
  }

  postFirst(task: () => void): void {
    if (this.#isClosed) return
    const waiting = this.#first
    if (waiting === undefined) {
      this.post(task)
      return
    }
    const behind = new Ring<() => void>()
    behind.push(waiting)
    for (let next = this.#rest?.shift(); next !== undefined; next = this.#rest?.shift()) {
      behind.push(next)
    }
    this.#first = task
    this.#rest = behind
  }

  close(): void {
    this.#isClosed = true
    this.#first = undefined
    this.#rest = undefined
    this.#update()
  }

  /** Delivers nothing until `release`. */
  hold(): void {
    this.#isHeld = true
    this.#update()
  }

  release(): void {
    this.#isHeld = false
    this.#update()
  }

  /** Delivers the first message. For the scheduler. */
  deliver(): void {
    const task = this.#first
    this.#first = this.#rest?.shift()
    if (this.#first === undefined) this.#update()
    task?.()
  }

  /** Joins or leaves the ready lanes, as it must be. */
  #update(): void {
    const shouldBeReady = this.#first !== undefined && !this.#isHeld
    if (shouldBeReady === this.#index >= 0) return
    if (shouldBeReady) {
      this.#index = this.#ready.push(this) - 1
      return
    }
    const last = this.#ready.pop()
    if (last !== undefined && last !== this) {
      this.#ready[this.#index] = last
      last.#index = this.#index
    }
    this.#index = -1
  }
}
