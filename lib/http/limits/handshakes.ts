/** When TLS handshakes begin. Each costs about a millisecond of the event loop, and a client can begin thousands at once: a few begin in each
 *  turn, and addresses take turns. */

import { Lines } from './lines.ts'

const perTurn = 2

export class Handshakes {
  readonly #lines = new Lines<string>()
  #isServing = false

  /** Runs the task, which begins a handshake, in this turn of the event loop or a later one. */
  add(address: string, task: () => void): void {
    this.#lines.add(address, task)
    if (this.#isServing) return
    this.#isServing = true
    setImmediate(this.#serve)
  }

  readonly #serve = (): void => {
    for (let i = 0; i < perTurn; i++) this.#lines.take()?.()
    this.#isServing = this.#lines.size > 0
    if (this.#isServing) setImmediate(this.#serve)
  }
}
