/** Spreads connections over threads that accept from one socket.
 *
 *  The kernel wakes all of them for a new connection, and the first one that runs accepts it. When many come at once, that one has accepted
 *  all of them before another processor has begun to run the next thread. So a thread that has more connections than another, and accepts
 *  several in a row, waits for a moment until another one has accepted: then they take turns. */

import type { Server, Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'

/** How many connections have been accepted by all threads; then how many each has open. */
const acceptedWord = 0
const openWords = 1
/** The thread does not listen. */
const none = -1

/** Two that are accepted within this time are in a row. */
const inRowMs = 2
/** The thread does nothing else meanwhile. */
const waitMaxMs = 1
/** After waiting for nothing: the others are busy, or no more connections have come. */
const restMs = 20

export interface AcceptsOptions {
  readonly memory: SharedArrayBuffer
  /** From 0 on. */
  readonly thread: number
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** For tests, which have no other threads. */
  readonly wait?: typeof Atomics.wait | undefined
}

/** How several threads listen on one port. */
export interface SharedListen {
  readonly descriptor: number | undefined
  /** With a descriptor: how the threads take turns. */
  readonly accepts?: Accepts | undefined
}

/** Memory for so many threads. */
export function createAcceptsMemory(threads: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((openWords + threads) * Int32Array.BYTES_PER_ELEMENT)
  new Int32Array(memory).fill(none, openWords)
  return memory
}

/** A thread has died, and its connections with it. */
export function forgetAccepts(memory: SharedArrayBuffer, thread: number): void {
  Atomics.store(new Int32Array(memory), openWords + thread, none)
}

export class Accepts {
  readonly #words: Int32Array
  readonly #own: number
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #wait: typeof Atomics.wait
  #lastMs = Number.NEGATIVE_INFINITY
  #restsUntilMs = Number.NEGATIVE_INFINITY

  constructor({ memory, thread, clock, wait = Atomics.wait }: AcceptsOptions) {
    this.#words = new Int32Array(memory)
    this.#own = openWords + thread
    this.#clock = clock
    this.#wait = wait
  }

  /** From now on the thread accepts connections with this server. */
  follow(server: Server): void {
    Atomics.store(this.#words, this.#own, 0)
    server.on('connection', (socket: Socket) => {
      socket.once('close', () => Atomics.sub(this.#words, this.#own, 1))
      this.#accepted()
    })
  }

  #accepted(): void {
    const words = this.#words
    Atomics.add(words, this.#own, 1)
    const accepted = Atomics.add(words, acceptedWord, 1) + 1
    Atomics.notify(words, acceptedWord)
    const nowMs = this.#clock.monotonicMs()
    const isInRow = nowMs - this.#lastMs < inRowMs
    this.#lastMs = nowMs
    if (!isInRow || nowMs < this.#restsUntilMs || !this.#isAhead()) return
    const outcome = this.#wait(words, acceptedWord, accepted | 0, waitMaxMs)
    this.#lastMs = this.#clock.monotonicMs()
    if (outcome === 'timed-out') this.#restsUntilMs = this.#lastMs + restMs
  }

  /** It has more connections than another thread that listens: of many, more by an eighth. */
  #isAhead(): boolean {
    const open = Atomics.load(this.#words, this.#own)
    for (let at = openWords; at < this.#words.length; at++) {
      const other = Atomics.load(this.#words, at)
      if (other !== none && open - other > other / 8) return true
    }
    return false
  }
}
