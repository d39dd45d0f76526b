/** Bounds of what a listener keeps for its clients: for one connection, for one name of
 *  certificates, and in all.
 *
 *  etcd itself has none of them. Without them one connection of 1,000 calls, each with a message
 *  of which the last byte does not come, took 1.6 GB in 30 s. A client without a certificate has
 *  no name, and shares what there is in all. */

import { type Tally, UserTally } from '@watchglass/cache'

interface Bounds {
  /** Bound of one connection; of watchers: of one stream. */
  readonly one: number
  readonly name: number
  readonly all: number
}

const mebibyte = 1024 ** 2

export type HeldKind = 'connections' | 'calls' | 'requestBytes' | 'responseBytes' | 'watchers'

/** An API server with 200 connections is far below each of them. */
const bounds: Readonly<Record<HeldKind, Bounds>> = {
  /** Each takes memory, also with nothing under way. */
  connections: { one: 1, name: 2000, all: 10_000 },
  calls: { one: 1000, name: 10_000, all: 40_000 },
  /** Bytes of headers, of messages that are not whole, and of calls that wait for their turn. */
  requestBytes: { one: 16 * mebibyte, name: 64 * mebibyte, all: 256 * mebibyte },
  /** Bytes that the client has not taken. One response may be larger if there is no other. */
  responseBytes: { one: 256 * mebibyte, name: 512 * mebibyte, all: 2048 * mebibyte },
  /** Each is looked at for each change, which takes 2 ms for as many as there may be. */
  watchers: { one: 10_000, name: 20_000, all: 50_000 },
}

/** The holdings of one listener's clients. */
export class Holdings {
  readonly #tallies = new Map<HeldKind, Tally>()

  /** The share of one connection, or of one stream, of this name. */
  share(kind: HeldKind, name: string | undefined): Share {
    const { one, name: perName, all } = bounds[kind]
    const tally = this.#tallies.get(kind) ?? new UserTally(perName, all)
    this.#tallies.set(kind, tally)
    return new Share(tally, name, one)
  }
}

export class Share {
  readonly #tally: Tally
  readonly #name: string | undefined
  readonly #max: number
  #held = 0

  constructor(tally: Tally, name: string | undefined, max: number) {
    this.#tally = tally
    this.#name = name
    this.#max = max
  }

  /** False if a bound does not allow it. Who holds nothing may take any amount. */
  take(amount: number): boolean {
    if (this.#held > 0 && this.#held + amount > this.#max) return false
    if (this.#tally.add(this.#name, amount) !== undefined) return false
    this.#held += amount
    return true
  }

  give(amount: number): void {
    this.#held -= amount
    this.#tally.remove(this.#name, amount)
  }
}

/** One call's part of a share: an amount that rises and falls. */
export class CallShare {
  readonly #share: Share
  #amount = 0

  constructor(share: Share) {
    this.#share = share
  }

  /** Holds this much from now on. False, with nothing changed, if a bound does not allow it. */
  set(amount: number): boolean {
    const more = amount - this.#amount
    if (more > 0 && !this.#share.take(more)) return false
    if (more < 0) this.#share.give(-more)
    this.#amount = amount
    return true
  }
}
