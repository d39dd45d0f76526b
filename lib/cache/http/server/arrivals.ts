/** When what clients send begins: the one scheduler of arrivals.
 *
 *  ```
 *  first bytes ─▶ handshake ─▶ HTTP/2 session ─▶ streams are read ─▶ a request begins ─▶ (long work: lib/cache/ops/turns.ts)
 *  ```
 *
 *  The law: what has come first begins first; whoever has the least under way is next; nobody who
 *  is known waits while the event loop has time; strangers have their share.
 *
 *  A turn of the event loop has time for a few milliseconds of beginnings. Within it everything
 *  begins as it is read, but for a connection that sends many requests in a packet: its others
 *  wait, one line for each connection, and lines take turns. Whoever has had nothing in the turn
 *  goes before them. What does not fit waits for the end of the turn, when everything that the
 *  sockets had was read; and what has waited leaves some of the next turn to whoever comes then.
 *  So ordinary clients, also a thousand of them, meet nothing of this.
 *
 *  A stream costs something before its request begins: connections that send a hundred requests
 *  each in a packet would hold the loop for long. So once a turn has had its time, connections that
 *  have lately sent many at once are not read until the next: the bytes stay with the system.
 *
 *  Strangers are connections without an authenticated client. What they do is paid from a purse
 *  that all of them share and that fills slowly: as long as it lasts they are served like
 *  everybody else, so that five hundred clients may come at once after a restart. Once it is
 *  empty, as it is when somebody floods us with connections, they have a small part of each
 *  turn, and at least one of each kind begins in it. */

import { isAccepted } from './accepted.ts'
import { Lines, type Task } from './lines.ts'

/** The part of a turn in which something may begin. With the last one, and what it sets in motion,
 *  the loop is held for less than 10 ms. */
const turnMs = 4
/** The part of it for requests of connections that have had one in it, or that have waited for more
 *  than one: what is left is for those who come then. */
const furtherMs = 2
/** The part of it for strangers whose purse is empty. */
const strangersMs = 1
/** Streams of such strangers that a turn reads before it stops reading them, by their weight. */
const strangersStreams = 4
/** The requests of a connection that begin as they are read. Over HTTP/2 all requests of a packet
 *  are read before any of them does more than begin, so their time is not known yet. */
const atOnceMax = 16
/** A client that opens no more streams at once sends few. */
const fewStreams = 8
/** A stream counts as so many more as it has headers of this length: to decode them, and to look at
 *  them, takes as long. Ordinary ones are shorter. */
const streamHeaderBytes = 1024
/** Connections that have lately sent more streams at once are not read any more in a turn that has
 *  had so much time: clients send some ten at once, aggregators some more, and hundreds only who
 *  means harm. */
const readFor: readonly (readonly [streams: number, ms: number])[] = [
  [64, 1],
  [fewStreams, 6],
]
/** Connections that were not read and are read again in a turn: a flood has thousands, of which
 *  each costs two calls of the system. */
const readAgainMax = 256
/** Requests that begin one after the other, until it is looked what they have set in motion. */
const batch = 2

/** About what strangers cost the event loop. */
const costMs = { handshake: 0.8, session: 0.3, stream: 0.1, request: 0.1, idleMegabyte: 5 }
/** Eight hundred clients that come at once, as when a server restarts. */
const purseMs = 1_000
/** The part of all time that goes into the purse. */
const refill = 0.05

/** The switch that stops a connection from being read. */
interface Handle {
  readStart(): void
  readStop(): void
}

/** An HTTP/2 connection as it is read. */
interface Source {
  readonly session: object
  readonly handle: Handle
  /** Streams that this turn has read, by their weight. */
  read: number
  /** Streams that it has lately sent at once. */
  burst: number
}

/** A turn of the event loop in which something arrives. */
interface Turn {
  readonly beganMs: number
  /** Requests of each connection that have begun in it. */
  readonly begun: Map<object, number>
  readonly readers: Source[]
  /** Strangers with an empty purse whose requests have begun, and the number of their streams that
   *  were read. */
  readonly strange: Set<Lines>
  strangersRead: number
  /** Connections that have lately sent more streams at once are not read any more. */
  readMax: number
}

export class Arrivals {
  readonly #clock: { monotonicMs(): number }
  /** Requests of known clients, and of strangers who can pay. */
  readonly #requests = new Lines()
  readonly #strangers = new Lines()
  readonly #sessions = new Lines()
  readonly #handshakes = new Lines()
  /** Connections in the order in which they go on: among busy ones, the one that was read last is
   *  last. */
  readonly #sources = new Map<object, Source>()
  readonly #stopped = new Set<Source>()
  #turn: Turn | undefined = undefined
  #purse = purseMs
  #purseAtMs: number
  /** True if it is the turn of new connections, and not of requests. */
  #isForNew = true

  constructor(clock: { monotonicMs(): number }) {
    this.#clock = clock
    this.#purseAtMs = clock.monotonicMs()
  }

  /** True once strangers have taken more than all of them may: connections that begin now may have
   *  fewer streams. */
  get isCrowded(): boolean {
    return this.#left() <= 0
  }

  /** Number of all that wait to begin. */
  get waiting(): number {
    return this.#requests.size + this.#strangers.size + this.#sessions.size + this.#handshakes.size
  }

  /** Runs the task, which begins a handshake, in this turn of the event loop or a later one.
   *  Addresses take turns. */
  handshake(address: string, task: Task): void {
    this.#open(this.#handshakes, address, () => {
      this.#pay(costMs.handshake)
      task()
    })
  }

  /** Runs the task, which begins an HTTP/2 session, in this turn or a later one. Addresses take
   *  turns. */
  session(address: string, task: Task): void {
    this.#open(this.#sessions, address, () => {
      this.#pay(costMs.session)
      task()
    })
  }

  /** Runs the task, which begins a request, in this turn or a later one. Connections take turns. */
  request(connection: object, task: Task): void {
    const turn = this.#turnOfNow()
    const isKnown = isAccepted(connection)
    if (!isKnown) this.#pay(costMs.request)
    const lines = isKnown || !this.isCrowded ? this.#requests : this.#strangers
    const begun = turn.begun.get(connection) ?? 0
    const hasToWait = begun > 0 ? lines.size > 0 : lines.hasNew || lines.has(connection)
    if (hasToWait || begun >= atOnceMax || !this.#mayBegin(turn, lines)) {
      lines.add(connection, task, begun > 0)
      return
    }
    turn.begun.set(connection, begun + 1)
    if (lines === this.#strangers) turn.strange.add(lines)
    task()
  }

  /** An HTTP/2 connection has begun. */
  add(connection: object, handle: Handle): void {
    this.#sources.set(connection, { session: connection, handle, read: 0, burst: 0 })
  }

  /** A connection was closed that had sent so many bytes of frames that carry nothing. Whoever was
   *  known on it is not when it comes again. */
  wasted(bytes: number): void {
    this.#pay((bytes / 1e6) * costMs.idleMegabyte)
  }

  remove(session: object): void {
    const source = this.#sources.get(session)
    this.#sources.delete(session)
    if (source !== undefined) this.#stopped.delete(source)
  }

  /** A stream of the connection, with headers of so many bytes, is about to be read. */
  read(session: object, headerBytes: number): void {
    const turn = this.#turnOfNow()
    const source = this.#sources.get(session)
    const weight = Math.max(1, headerBytes / streamHeaderBytes)
    if (source !== undefined) {
      if (source.read === 0) turn.readers.push(source)
      source.read += weight
    }
    const isKnown = isAccepted(session)
    if (!isKnown) this.#pay(costMs.stream * weight)
    if (isKnown || !this.isCrowded) {
      this.#stopBusy(turn, source)
      return
    }
    const isFull = turn.strangersRead >= strangersStreams
    turn.strangersRead += weight
    if (isFull && source !== undefined) this.#stopOne(source)
    else if (turn.strangersRead >= strangersStreams) this.#stop(one => !isAccepted(one.session))
  }

  #stopBusy(turn: Turn, source: Source | undefined): void {
    const tookMs = this.#tookMs(turn)
    for (const [streams, ms] of readFor) {
      if (tookMs < ms || turn.readMax <= streams) continue
      turn.readMax = streams
      this.#stop(one => burstOf(one) > streams)
    }
    if (source !== undefined && burstOf(source) > turn.readMax) this.#stopOne(source)
  }

  #open(lines: Lines, address: string, task: Task): void {
    const turn = this.#turnOfNow()
    if (lines.size > 0 || !this.#mayBegin(turn, lines)) lines.add(address, task)
    else {
      turn.strange.add(lines)
      task()
    }
  }

  #tookMs({ beganMs }: Turn): number {
    return this.#clock.monotonicMs() - beganMs
  }

  /** Whether a task of these lines that waits may begin. */
  #mayGoOn(turn: Turn, lines: Lines): boolean {
    if (lines.size === 0) return false
    return this.#mayBegin(turn, lines) && (lines.hasNew || this.#tookMs(turn) < furtherMs)
  }

  #mayBegin(turn: Turn, lines: Lines): boolean {
    if (lines === this.#requests || !this.isCrowded) return this.#tookMs(turn) < turnMs
    return !turn.strange.has(lines) || this.#tookMs(turn) < strangersMs
  }

  /** Ends with the next `setImmediate`, which comes after all sockets that are readable were
   *  read. */
  #turnOfNow(): Turn {
    if (this.#turn !== undefined) return this.#turn
    this.#turn = {
      beganMs: this.#clock.monotonicMs(),
      begun: new Map(),
      readers: [],
      strange: new Set(),
      strangersRead: 0,
      readMax: Infinity,
    }
    setImmediate(this.#endTurn)
    return this.#turn
  }

  readonly #endTurn = (): void => {
    for (const source of this.#turn?.readers ?? []) {
      source.burst = Math.max(source.read, source.burst / 2)
      source.read = 0
      if (burstOf(source) > fewStreams && this.#sources.delete(source.session)) {
        this.#sources.set(source.session, source)
      }
    }
    this.#turn = undefined
    let again = 0
    for (const source of this.#stopped) {
      if (again === readAgainMax) break
      if (!this.#requests.has(source.session) && !this.#strangers.has(source.session)) {
        again++
        this.#stopped.delete(source)
        source.handle.readStart()
      }
    }
    if (this.waiting === 0 && this.#stopped.size === 0) return
    this.#turnOfNow()
    this.#serve()
  }

  readonly #serve = (): void => {
    for (let begun = 0; begun < batch; begun++) {
      const task = this.#next()
      if (task === undefined) return
      task()
    }
    // Only when all promise callbacks of them have run is their time known.
    queueMicrotask(this.#tick)
  }

  readonly #tick = (): void => {
    process.nextTick(this.#serve)
  }

  #next(): Task | undefined {
    const turn = this.#turnOfNow()
    this.#isForNew = !this.#isForNew
    const opening = [this.#sessions, this.#handshakes]
    const order = this.isCrowded
      ? [this.#requests, this.#strangers, ...opening]
      : this.#isForNew
        ? [...opening, this.#requests, this.#strangers]
        : [this.#requests, this.#strangers, ...opening]
    for (const lines of order) {
      if (!this.#mayGoOn(turn, lines)) continue
      if (lines !== this.#requests) turn.strange.add(lines)
      return lines.take()
    }
    return undefined
  }

  #pay(ms: number): void {
    this.#purse = this.#left() - ms
  }

  /** Contents of the purse. It owes at most what fills it in two seconds. */
  #left(): number {
    const nowMs = this.#clock.monotonicMs()
    const filled = this.#purse + (nowMs - this.#purseAtMs) * refill
    this.#purse = Math.min(purseMs, Math.max(-2_000 * refill, filled))
    this.#purseAtMs = nowMs
    return this.#purse
  }

  #stop(isMeant: (source: Source) => boolean): void {
    for (const source of this.#sources.values()) if (isMeant(source)) this.#stopOne(source)
  }

  #stopOne(source: Source): void {
    if (this.#stopped.has(source)) return
    this.#stopped.add(source)
    source.handle.readStop()
  }
}

function burstOf({ read, burst }: Source): number {
  return Math.max(read, burst)
}
