/** How many HTTP/2 streams are read in one turn of the event loop. Node makes the objects of a stream as it reads its headers, before
 *  anything of ours runs: sixteen connections that send a hundred requests each in a packet would hold the loop for 80 ms. So a turn that
 *  has brought many streams reads no more of them: all connections of that kind (known clients, or strangers) stop, and go on in
 *  the next turn, those that were served last. A connection whose requests still wait to begin (starts.ts) is not read meanwhile.
 *
 *  What stops is the socket beneath Node's session, which has no method for it: the bytes stay with the system and the client. */

import type { ServerHttp2Session } from 'node:http2'
import { isAccepted } from '../server/accepted.ts'
import { Lines } from './lines.ts'

/** Streams that a turn reads before it stops. The packets that are being read then are read to their end. */
const perTurn = { strangers: 4, known: 12 }
/** So many connections within a second are many: clients of our own begin a few. */
const openingsMany = 20
const openingsWithinMs = 1_000
/** For so long it is remembered that many connections, or many streams, have come. */
const crowdedMs = 10_000
/** What it takes to begin a connection, in streams. */
const openingCost = 4

/** What Node's streams on sockets have beneath. */
interface Handle {
  readStart(): void
  readStop(): void
}

interface Source {
  readonly session: object
  readonly handle: Handle
  /** A stream that begins later has a higher number. */
  lastStream: number
}

export interface ReadsOptions {
  readonly clock: { monotonicMs(): number }
  /** Tells of a session whether requests of it wait to begin. */
  readonly isWaiting: (session: object) => boolean
}

export class Reads {
  readonly #clock: ReadsOptions['clock']
  readonly #isWaiting: ReadsOptions['isWaiting']
  #lastFullMs = Number.NEGATIVE_INFINITY
  #lastManyMs = Number.NEGATIVE_INFINITY
  /** When the last connections began. */
  readonly #openings: number[] = []
  readonly #sources = new Map<object, Source>()
  #streams = 0
  readonly #stopped = new Set<Source>()
  readonly #opening = new Lines<string>()
  /** Streams that this turn has read. */
  readonly #read = { strangers: 0, known: 0 }
  readonly #isFull = { strangers: false, known: false }
  #isTurn = false

  constructor({ clock, isWaiting }: ReadsOptions) {
    this.#clock = clock
    this.#isWaiting = isWaiting
  }

  /** Many connections came lately, and more streams than a turn reads: connections that begin now may have fewer until their clients are
   *  known. A client that sends many requests over one connection is not meant. */
  get isCrowded(): boolean {
    const sinceMs = this.#clock.monotonicMs() - crowdedMs
    return this.#lastFullMs > sinceMs && this.#lastManyMs > sinceMs
  }

  /** Runs the task, which begins a session, in this turn or a later one. Addresses take turns. */
  open(address: string, task: () => void): void {
    if (this.#opening.size === 0 && this.#mayOpen()) this.#begin(task)
    else {
      this.#opening.add(address, task)
      this.#beginTurn()
    }
  }

  add(session: ServerHttp2Session): void {
    const { _handle } = session.socket as unknown as { readonly _handle: Handle | null }
    const handle = _handle ?? undefined
    // A connection that is closed already has none.
    if (handle === undefined) return
    this.#sources.set(session, { session, handle, lastStream: ++this.#streams })
  }

  remove(session: object): void {
    const source = this.#sources.get(session)
    this.#sources.delete(session)
    if (source !== undefined) this.#stopped.delete(source)
  }

  /** A stream has begun. */
  began(session: object): void {
    this.#beginTurn()
    const kind = kindOf(session)
    const source = this.#sources.get(session)
    if (source !== undefined) source.lastStream = ++this.#streams
    if (++this.#read[kind] < perTurn[kind]) return
    if (!this.#isFull[kind]) {
      this.#isFull[kind] = true
      this.#lastFullMs = this.#clock.monotonicMs()
      const others = [...this.#sources.values()].filter(({ session }) => kindOf(session) === kind)
      // They go on in this order.
      for (const other of others.toSorted(byLastStream)) this.#stop(other)
    } else if (source !== undefined) this.#stop(source)
  }

  #mayOpen(): boolean {
    return this.#read.strangers < perTurn.strangers
  }

  #begin(task: () => void): void {
    this.#beginTurn()
    this.#read.strangers += openingCost
    this.#noteOpening()
    task()
  }

  #noteOpening(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#openings.push(nowMs)
    if (this.#openings.length < openingsMany) return
    const firstMs = this.#openings.shift() ?? nowMs
    if (nowMs - firstMs < openingsWithinMs) this.#lastManyMs = nowMs
  }

  /** Ends with the next `setImmediate`, which comes after all sockets that are readable were read. */
  #beginTurn(): void {
    if (this.#isTurn) return
    this.#isTurn = true
    setImmediate(this.#endTurn)
  }

  readonly #endTurn = (): void => {
    this.#isTurn = false
    for (const kind of ['strangers', 'known'] as const) {
      this.#read[kind] = 0
      this.#isFull[kind] = false
    }
    for (const source of this.#stopped) {
      if (!this.#isWaiting(source.session)) this.#start(source)
    }
    while (this.#mayOpen()) {
      const task = this.#opening.take()
      if (task === undefined) break
      this.#begin(task)
    }
    if (this.#stopped.size > 0 || this.#opening.size > 0) this.#beginTurn()
  }

  #stop(source: Source): void {
    if (this.#stopped.has(source)) return
    this.#stopped.add(source)
    source.handle.readStop()
  }

  #start(source: Source): void {
    this.#stopped.delete(source)
    source.handle.readStart()
  }
}

function byLastStream(one: Source, other: Source): number {
  return one.lastStream - other.lastStream
}

function kindOf(session: object): 'strangers' | 'known' {
  return isAccepted(session) ? 'known' : 'strangers'
}
