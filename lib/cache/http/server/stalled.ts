/** Closes connections of clients that do not read the end of a response.
 *
 *  While a response is being written, respond.ts waits for the client and has a timeout. Once the
 *  last piece is in the socket's buffer, nothing waits any more, and a client that has stopped
 *  reading would hold that piece and its connection for ever.
 *
 *  All requests are checked in one round every 15 s, which is cheaper than one timer for each of
 *  them. */

import { type Bag, type Clock, Rounds } from '@watchglass/base'
import type { HttpRequest } from './http-request.ts'
import { slowReaderTimeoutMs } from './respond.ts'

/** A client is cut off after 60 to 75 s: the timeout, and up to one interval until it is
 *  noticed. */
const checkEveryMs = slowReaderTimeoutMs / 4

export class StalledClients {
  readonly #clock: Clock
  readonly #requests: Bag<HttpRequest>
  /** When a check first found a response written to its end and not read. */
  readonly #since = new WeakMap<HttpRequest, number>()
  readonly #rounds: Rounds

  constructor(requests: Bag<HttpRequest>, clock: Clock) {
    this.#requests = requests
    this.#clock = clock
    this.#rounds = new Rounds(clock, checkEveryMs, () => this.#check())
  }

  /** Adds a request. The checks run while there is one. */
  wake(): void {
    this.#rounds.wake()
  }

  stop(): void {
    this.#rounds.stop()
  }

  #check(): boolean {
    const nowMs = this.#clock.monotonicMs()
    for (const request of this.#requests) {
      if (!request.isFlushing) continue
      const sinceMs = this.#since.get(request)
      if (sinceMs === undefined) this.#since.set(request, nowMs)
      else if (nowMs - sinceMs >= slowReaderTimeoutMs) request.abort()
    }
    return this.#requests.size > 0
  }
}
