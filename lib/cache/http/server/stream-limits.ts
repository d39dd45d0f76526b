/** The number of streams that an HTTP/2 connection may have at once: few at first, and four times
 *  as many whenever half of them have been taken, which means that the client has got all of the
 *  response that there is so far. So a client whose windows are zero, or that does not read, has
 *  few however often it asks. The others are refused before any object is made; clients send such
 *  a request again (RFC 9113, 8.7).
 *
 *  ```
 *  strangers          100, or 8 while many connections come ─── stays
 *  authenticated      the same ─▶ 4 times, half of them taken ─▶ … ─▶ 2,000
 *  ```
 *
 *  Connections that may need more are looked at every 50 ms: nothing says when a blocked response
 *  begins to move. */

import { Bag, type Clock, Rounds } from '@watchglass/base'
import { isAccepted } from './accepted.ts'

/** The streams that kube-apiserver allows. */
const usualStreams = 100
/** While more streams come than the event loop reads in a turn. */
const crowdedStreams = 8
/** An aggregator sends all of its watches over one connection (kubernetes issue 60042). */
const streamsMax = 2_000
const growth = 4
const lookEveryMs = 50

/** A stream as its limits see it. */
export interface LimitedStream {
  readonly headersSent: boolean
  /** Bytes that wait for the client. */
  readonly writableLength: number
  readonly writableFinished: boolean
  readonly rstCode: number
}

/** A connection as its limits see it. */
export interface LimitedConnection {
  readonly destroyed: boolean
  readonly closed: boolean
  limitStreams(maxConcurrentStreams: number): void
}

type Stream = LimitedStream

interface Connection {
  readonly session: LimitedConnection
  readonly open: Bag<Stream>
  limit: number
  /** Number of streams that were taken and have ended. */
  taken: number
  /** Takes it out of those that are looked at. */
  rest: (() => void) | undefined
}

export class StreamLimits {
  readonly #looked = new Bag<Connection>()
  readonly #rounds: Rounds
  #first = usualStreams

  constructor(clock: Clock) {
    this.#rounds = new Rounds(clock, lookEveryMs, () => this.#look())
  }

  /** The number of streams that the next connection begins with. */
  begin(isCrowded: boolean): number {
    this.#first = isCrowded ? crowdedStreams : usualStreams
    return this.#first
  }

  /** A connection has begun. Call the returned function with each stream, and what that returns
   *  when the stream is over. */
  open(session: LimitedConnection): (stream: Stream) => () => void {
    const one: Connection = {
      session,
      open: new Bag(),
      limit: this.#first,
      taken: 0,
      rest: undefined,
    }
    return stream => {
      const leave = one.open.add(stream)
      if (this.#mayNeedMore(one) && one.rest === undefined) {
        one.rest = this.#looked.add(one)
        this.#rounds.wake()
      }
      return () => {
        leave()
        if (stream.writableFinished && stream.rstCode === 0) one.taken++
      }
    }
  }

  #mayNeedMore({ limit, open }: Connection): boolean {
    return limit < streamsMax && open.size >= limit / 2
  }

  #look(): boolean {
    for (const one of this.#looked) {
      const { session } = one
      if (session.destroyed || session.closed || !this.#mayNeedMore(one)) {
        one.rest?.()
        one.rest = undefined
      } else if (isAccepted(session) && takenOf(one) >= one.limit / 2) {
        one.limit = Math.min(streamsMax, growth * one.limit)
        session.limitStreams(one.limit)
      }
    }
    return this.#looked.size > 0
  }
}

function takenOf({ open, taken }: Connection): number {
  let all = taken
  for (const { headersSent, writableLength } of open) {
    if (headersSent && writableLength === 0) all++
  }
  return all
}
