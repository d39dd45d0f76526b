/** When requests begin. A client may send a thousand in one packet, and a thousand clients may send theirs at once: if all began when they
 *  were read, everybody else would wait until the last of them has given way. So in each turn of the event loop requests begin for a few
 *  milliseconds; those beyond wait, and connections take turns.
 *
 *  ```
 *  read ──▶ time left in this turn, and few of this connection ──▶ begins at once
 *     └──▶ line of its connection ──▶ known clients first, strangers for the rest ──▶ begins in a later turn
 *  ```
 *
 *  Connections whose clients are authenticated go first. Strangers have a small part of each turn, and at least one of them begins in
 *  it. Normal traffic is never lined up: what arrives in one turn takes less than its time. */

import { Lines, type Task } from './lines.ts'

/** How long requests may begin within one turn. With the last one, and what it sets in motion, the loop is held for less than 8 ms. */
const turnMs = 1.5
/** Of it, for connections without an authenticated client. */
const strangersMs = 0.5
/** So many of one connection begin as soon as they are read. Over HTTP/2 all requests of a packet are read before any of them does more than
 *  begin, so their time is not known yet. */
const atOnceMax = 4

export interface StartsClock {
  monotonicMs(): number
}

export class Starts {
  readonly #clock: StartsClock
  readonly #known = new Lines<object>()
  readonly #strangers = new Lines<object>()
  /** How many of each connection have begun in this turn. */
  #begun = new Map<object, number>()
  #isTurn = false
  #endMs = 0
  #strangersEndMs = 0
  /** How many strangers have begun in this turn. */
  #strangersServed = 0

  constructor(clock: StartsClock) {
    this.#clock = clock
  }

  /** How many wait. */
  get waiting(): number {
    return this.#known.size + this.#strangers.size
  }

  /** True if requests of this connection wait. */
  isWaiting(connection: object): boolean {
    return this.#known.has(connection) || this.#strangers.has(connection)
  }

  /** Runs the task now, or in a later turn of the event loop. */
  add(connection: object, isKnown: boolean, task: Task): void {
    if (!this.#isTurn) this.#beginTurn()
    const begun = this.#begun.get(connection) ?? 0
    if (this.#hasTime(isKnown) && begun < atOnceMax) {
      this.#begun.set(connection, begun + 1)
      if (!isKnown) this.#strangersServed++
      task()
    } else (isKnown ? this.#known : this.#strangers).add(connection, task)
  }

  /** Ends with the next `setImmediate`, which comes after all sockets that are readable were read. */
  #beginTurn(): void {
    this.#isTurn = true
    this.#strangersServed = 0
    const nowMs = this.#clock.monotonicMs()
    this.#endMs = nowMs + turnMs
    this.#strangersEndMs = nowMs + strangersMs
    setImmediate(this.#endTurn)
  }

  #hasTime(isKnown: boolean): boolean {
    const { size } = isKnown ? this.#known : this.#strangers
    return size === 0 && this.#clock.monotonicMs() < (isKnown ? this.#endMs : this.#strangersEndMs)
  }

  readonly #endTurn = (): void => {
    this.#isTurn = false
    // A map that is cleared again and again would keep connections that have gone (base/bag.ts).
    this.#begun = new Map()
    if (this.waiting === 0) return
    this.#beginTurn()
    this.#serve()
  }

  readonly #serve = (): void => {
    const task = this.#next()
    if (task === undefined) return
    task()
    // Only when all promise callbacks of it have run is its time known.
    queueMicrotask(this.#tick)
  }

  readonly #tick = (): void => {
    process.nextTick(this.#serve)
  }

  #next(): Task | undefined {
    const nowMs = this.#clock.monotonicMs()
    const task = nowMs < this.#endMs ? this.#known.take() : undefined
    if (task !== undefined) return task
    if (this.#strangersServed === 0) this.#strangersEndMs = nowMs + strangersMs
    else if (nowMs >= this.#strangersEndMs) return undefined
    this.#strangersServed++
    return this.#strangers.take()
  }
}
