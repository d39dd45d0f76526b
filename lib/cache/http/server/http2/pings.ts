/** Pings to clients that wait for an answer and say nothing. Load balancers that pass bytes on cut
 *  a connection that is idle for longer than they wait, often 50 s, and tell its client nothing
 *  (kubernetes issue 127693): a watch of a quiet resource may have nothing to write for an hour. A
 *  client that has vanished, or is stopped, answers no ping, and its connection is closed. */

import { type Bag, type Clock, Rounds } from '@watchglass/base'

export interface PingTimes {
  /** Silence of a client after which it is pinged. */
  readonly intervalSeconds: number
  /** Further silence, after which its connection is closed. */
  readonly timeoutSeconds: number
}

/** A connection as its pings see it. */
export interface PingedConnection {
  /** Something is under way, and what its client sends is read. */
  readonly isListening: boolean
  /** Seconds in which this process ran and nothing came: if it was stopped for an hour, no client
   *  has been silent. The connection sets it to 0 when something comes. */
  silentSeconds: number
  ping(): void
  destroy(): void
}

const lookEveryMs = 1_000

/** The rounds that ping the clients of connections: wake them when a connection begins. */
export function pingRounds(
  clock: Clock,
  connections: Bag<PingedConnection>,
  { intervalSeconds, timeoutSeconds }: PingTimes,
): Rounds {
  return new Rounds(clock, lookEveryMs, () => {
    for (const connection of connections) {
      if (connection.isListening) connection.silentSeconds++
      else connection.silentSeconds = 0
      if (connection.silentSeconds === intervalSeconds) connection.ping()
      if (connection.silentSeconds >= intervalSeconds + timeoutSeconds) connection.destroy()
    }
    return connections.size > 0
  })
}
