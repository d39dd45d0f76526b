/** The connection of a stream's client: the one way in which anything is written to it, data and
 *  answers to its control frames alike. Of a client that does not take what waits for it nothing
 *  is read, so that it cannot ask for more; what is written all the same has a bound.
 *
 *  ```
 *  frames ─▶ small ones are joined while the socket is busy ─▶ socket
 *              1 MiB: the client is not read        4 MiB: it is cut off
 *  ``` */

import type { Duplex } from 'node:stream'
import type { HeldStreamBytes } from './held-bytes.ts'

/** Bytes that wait for a client; beyond, it is not read, and whoever sends them should wait. */
const fullBytes = 1024 * 1024
/** Bytes of whoever does not wait. */
const waitingMaxBytes = 4 * 1024 * 1024
/** Smaller pieces are joined: of two bytes each, a million of them would take a hundred times as
 *  much. */
const joinedMaxBytes = 4 * 1024
const joinBytes = 16 * 1024

/** A connection that was upgraded. */
export interface Upgraded {
  readonly socket: Duplex
  /** The head of the answer that agrees. */
  readonly head: string
  /** Bytes that have come after the request. */
  readonly early: Uint8Array
}

export interface ClientEvents {
  readonly bytes: (bytes: Buffer) => void
  /** The client has taken most of what waited for it. */
  readonly drained: () => void
  readonly over: () => void
}

export class ClientSide {
  readonly #socket: Duplex
  readonly #held: HeldStreamBytes
  readonly #events: ClientEvents
  /** The streams for whose sake the client is not read. */
  readonly #holders = new Set<object>()
  /** Joined pieces that wait for the socket. */
  #joined: Buffer = Buffer.alloc(0)
  #joinedBytes = 0
  #counted = 0
  #isBatch = false
  #isFull = false
  #isEnded = false
  #isOver = false

  constructor({ socket, head, early }: Upgraded, held: HeldStreamBytes, events: ClientEvents) {
    this.#socket = socket
    this.#held = held
    this.#events = events
    socket.write(head, 'latin1')
    socket.on('data', this.#take)
    socket.on('error', () => this.destroy())
    socket.on('end', () => this.destroy())
    socket.on('close', () => this.destroy())
    socket.resume()
    queueMicrotask(() => this.#take(Buffer.from(early)))
  }

  /** The client should read before more is sent. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Nothing more is taken from the client. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  write(bytes: Buffer): void {
    if (this.#isEnded) return
    const isJoined = this.#isBatch || this.#socket.writableLength > 0
    if (isJoined && bytes.length <= joinedMaxBytes) this.#join(bytes)
    else {
      this.#flush()
      this.#socket.write(bytes, this.#written)
    }
    const waiting = this.#socket.writableLength + this.#joinedBytes
    if (waiting > waitingMaxBytes || !this.#count(waiting)) this.destroy()
    else if (waiting > fullBytes && !this.#isFull) {
      this.#isFull = true
      this.hold(this)
    }
  }

  /** Joins what the task writes. */
  batch<Result>(task: () => Result): Result {
    this.#isBatch = true
    try {
      return task()
    } finally {
      this.#isBatch = false
      if (this.#socket.writableLength === 0) this.#flush()
    }
  }

  /** Nothing is read of the client until it is released. */
  hold(who: object): void {
    this.#holders.add(who)
    this.#socket.pause()
  }

  release(who: object): void {
    if (this.#holders.delete(who) && this.#holders.size === 0) this.#socket.resume()
  }

  /** Ends the connection when all that was sent is written. */
  end(): void {
    if (this.#isEnded) return
    this.#flush()
    this.#isEnded = true
    this.#socket.end()
  }

  /** Ends it at once, but for a last frame that says why: a client that takes nothing does not get
   *  that, either. */
  fail(last?: Buffer): void {
    if (this.#isEnded) return
    if (last === undefined || this.#socket.writableLength > 0) return this.destroy()
    this.write(last)
    this.end()
    this.#socket.once('finish', () => this.destroy())
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isEnded = true
    this.#joinedBytes = 0
    this.#socket.destroy()
    this.#events.over()
  }

  readonly #take = (bytes: Buffer): void => {
    if (!this.#isEnded) this.#events.bytes(bytes)
  }

  #join(bytes: Buffer): void {
    if (this.#joined.length - this.#joinedBytes < bytes.length) {
      this.#flush()
      this.#joined = Buffer.allocUnsafeSlow(joinBytes)
    }
    this.#joinedBytes += bytes.copy(this.#joined, this.#joinedBytes)
  }

  /** Gives the socket what is joined. */
  #flush(): void {
    if (this.#joinedBytes === 0) return
    const joined = this.#joined.subarray(0, this.#joinedBytes)
    this.#joined = this.#joined.subarray(this.#joinedBytes)
    this.#joinedBytes = 0
    this.#socket.write(joined, this.#written)
  }

  readonly #written = (): void => {
    if (this.#isOver) return
    const socket = this.#socket
    if (socket.writableLength === 0 && !this.#isBatch && !this.#isEnded) this.#flush()
    const waiting = socket.writableLength + this.#joinedBytes
    this.#count(waiting)
    if (!this.#isFull || waiting > fullBytes / 2) return
    this.#isFull = false
    this.release(this)
    this.#events.drained()
  }

  #count(waiting: number): boolean {
    if (!this.#held.change(waiting - this.#counted)) return false
    this.#counted = waiting
    return true
  }
}
