/** Counts the pings of a connection as gRPC for Go does, with etcd's limits: one that comes
 *  within 5 s of the one before, while nothing was sent in between, is a strike; the third
 *  strike ends the connection. A client may ping as often as it gets data: Go's measures its
 *  bandwidth so, several times within one message of some megabytes. */

/** etcd's `--grpc-keepalive-min-time`. */
const intervalMinMs = 5000

const strikesMax = 2

export class PingStrikes {
  #lastMs = -Infinity
  readonly #bodyBytes: () => number
  #bytesBefore = 0
  #hasSent = false
  #strikes = 0

  /** `bodyBytes` counts what was sent of answers that the client takes bit by bit. */
  constructor(bodyBytes: () => number = () => 0) {
    this.#bodyBytes = bodyBytes
  }

  /** Something was sent to the client. */
  sent(): void {
    this.#hasSent = true
  }

  /** Notes a ping. True if the connection must end. */
  pinged(nowMs: number): boolean {
    const isSoon = nowMs - this.#lastMs < intervalMinMs
    this.#lastMs = nowMs
    const bytes = this.#bodyBytes()
    if (bytes !== this.#bytesBefore) this.#hasSent = true
    this.#bytesBefore = bytes
    if (this.#hasSent) {
      this.#hasSent = false
      this.#strikes = 0
    } else if (isSoon) {
      this.#strikes++
    }
    return this.#strikes > strikesMax
  }
}
