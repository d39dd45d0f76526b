/** When TLS handshakes begin. Each costs about a millisecond of the event loop, what comes over the new connection costs more, and a client
 *  can begin thousands at once: one begins in each turn, and addresses take turns.
 *
 *  After a turn that was long none begins for a while: new connections wait before requests over those that are there do. So a flood of
 *  connections does not take more of the loop than keeps its turns short. */

import { Lines } from './lines.ts'

/** A turn that takes longer is long: a handshake and what else is usual in one take less. */
const turnMaxMs = 4
/** One begins after this time, however long the turns are. */
const waitMaxMs = 20

export class Handshakes {
  readonly #clock: { monotonicMs(): number }
  readonly #lines = new Lines<string>()
  #isServing = false
  #turnMs = 0
  #begunMs = Number.NEGATIVE_INFINITY

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock
  }

  /** Runs the task, which begins a handshake, in this turn of the event loop or a later one. */
  add(address: string, task: () => void): void {
    this.#lines.add(address, task)
    if (this.#isServing) return
    this.#isServing = true
    this.#turnMs = this.#clock.monotonicMs()
    setImmediate(this.#serve)
  }

  readonly #serve = (): void => {
    const nowMs = this.#clock.monotonicMs()
    const wasShort = nowMs - this.#turnMs <= turnMaxMs
    this.#turnMs = nowMs
    if (wasShort || nowMs - this.#begunMs >= waitMaxMs) {
      this.#begunMs = nowMs
      this.#lines.take()?.()
    }
    this.#isServing = this.#lines.size > 0
    if (this.#isServing) setImmediate(this.#serve)
  }
}
