/** Counts the pings of a connection as gRPC for Go does, with etcd's limits: one that comes
 *  within 5 s of the one before, while nothing was sent in between, is a strike; the third
 *  strike ends the connection. A client may ping as often as it gets data: Go's measures its
 *  bandwidth so. */

/** etcd's `--grpc-keepalive-min-time`. */
const intervalMinMs = 5000

const strikesMax = 2

export class PingStrikes {
  #lastMs = -Infinity
  #hasSent = false
  #strikes = 0

  /** Something was sent to the client. */
  sent(): void {
    this.#hasSent = true
  }

  /** Notes a ping. True if the connection must end. */
  pinged(nowMs: number): boolean {
    const isSoon = nowMs - this.#lastMs < intervalMinMs
    this.#lastMs = nowMs
    if (this.#hasSent) {
      this.#hasSent = false
      this.#strikes = 0
    } else if (isSoon) {
      this.#strikes++
    }
    return this.#strikes > strikesMax
  }
}
