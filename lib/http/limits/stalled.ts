/** Cuts off clients that do not take the end of their answers. What an answer is written with waits for its client (respond.ts) until
 *  the last piece is handed to the system's buffers; from then on nobody waits, and a client that has stopped reading would hold
 *  that piece, and its connection, for ever.
 *
 *  All exchanges are looked at every now and then, which costs less than a timer for each of them. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import type { Exchange } from '../server/exchange.ts'
import { slowReaderTimeoutMs } from '../server/respond.ts'

/** A client has between this and this and a quarter more. */
const lookEveryMs = slowReaderTimeoutMs / 4

export class StalledClients {
  readonly #clock: Clock
  readonly #exchanges: ReadonlySet<Exchange>
  /** Since when a look has found an answer written to its end, and not taken. */
  readonly #since = new WeakMap<Exchange, number>()
  #cancel: CancelTimer | undefined

  constructor(exchanges: ReadonlySet<Exchange>, clock: Clock) {
    this.#exchanges = exchanges
    this.#clock = clock
  }

  /** There may be an exchange to look at. */
  wake(): void {
    this.#cancel ??= this.#clock.setTimer(lookEveryMs, this.#look)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  readonly #look = (): void => {
    this.#cancel = undefined
    const nowMs = this.#clock.monotonicMs()
    for (const exchange of this.#exchanges) {
      if (!exchange.isFlushing) continue
      const sinceMs = this.#since.get(exchange)
      if (sinceMs === undefined) this.#since.set(exchange, nowMs)
      else if (nowMs - sinceMs >= slowReaderTimeoutMs) exchange.abort()
    }
    if (this.#exchanges.size > 0) this.wake()
  }
}
