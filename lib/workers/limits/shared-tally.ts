/** The amounts that users have taken of something that all threads of a process share. */

import { isNearBound, type Tally } from '@watchglass/cache'

const rows = 4
const columns = 1024
const wordsOfThread = 1 + rows * columns

/** The units of an amount: bytes are counted in kilobytes, so that two gigabytes of them are far
 *  from the end of a word. */
export type TallyUnit = 1 | 1024

export interface SharedTallyOptions {
  readonly memory: SharedArrayBuffer
  /** The part of this thread, from 0 on. */
  readonly thread: number
  /** Seed of the places of users' cells: nobody outside can choose a name that shares the cells of
   *  another. */
  readonly seed: number
  readonly perUser: number
  readonly max: number
  readonly unit: TallyUnit
}

/** Memory for a tally of so many threads. */
export function createTallyMemory(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * wordsOfThread * Uint32Array.BYTES_PER_ELEMENT)
}

/** A thread has died. */
export function forgetWorker(memory: SharedArrayBuffer, thread: number): void {
  const words = new Uint32Array(memory)
  const start = thread * wordsOfThread
  for (let at = start; at < start + wordsOfThread; at++) Atomics.store(words, at, 0)
}

export class SharedTally implements Tally {
  readonly #words: Uint32Array
  readonly #start: number
  readonly #perUser: number
  readonly #max: number
  readonly #unit: TallyUnit
  readonly #cells: UserCells

  constructor({ memory, thread, seed, perUser, max, unit }: SharedTallyOptions) {
    this.#words = new Uint32Array(memory)
    this.#start = thread * wordsOfThread
    this.#perUser = perUser / unit
    this.#max = max / unit
    this.#unit = unit
    this.#cells = new UserCells(seed)
  }

  add(user: string | undefined, amount: number): 'user' | 'all' | undefined {
    const units = Math.ceil(amount / this.#unit)
    const cells = user === undefined ? undefined : this.#cells.of(user)
    this.#change(cells, units)
    const bound = this.#boundOf(cells, units)
    if (bound !== undefined) this.#change(cells, -units)
    return bound
  }

  remove(user: string | undefined, amount: number): void {
    this.#change(
      user === undefined ? undefined : this.#cells.of(user),
      -Math.ceil(amount / this.#unit),
    )
  }

  isAbove(user: string, amount: number): boolean {
    return this.#amountOf(this.#cells.of(user)) > amount / this.#unit
  }

  isCrowded(user: string): boolean {
    const ofAll = this.#ofAllThreads(0)
    if (isNearBound(ofAll, this.#max)) return true
    // No user has more than all. Every request asks this, and mostly little is taken.
    if (!isNearBound(ofAll, this.#perUser)) return false
    return isNearBound(this.#amountOf(this.#cells.of(user)), this.#perUser)
  }

  /** The bound that is exceeded with these units, which are counted already. */
  #boundOf(cells: readonly number[] | undefined, units: number): 'user' | 'all' | undefined {
    const ofAll = this.#ofAllThreads(0)
    const ofUser = cells === undefined || ofAll <= this.#perUser ? 0 : this.#amountOf(cells)
    if (ofUser > units && ofUser > this.#perUser) return 'user'
    return ofAll > units && ofAll > this.#max ? 'all' : undefined
  }

  #change(cells: readonly number[] | undefined, units: number): void {
    this.#add(0, units)
    for (const cell of cells ?? []) this.#add(cell, units)
  }

  #add(word: number, units: number): void {
    const at = this.#start + word
    Atomics.store(this.#words, at, Atomics.load(this.#words, at) + units)
  }

  #amountOf(cells: readonly number[]): number {
    let least = Infinity
    for (const cell of cells) least = Math.min(least, this.#ofAllThreads(cell))
    return least
  }

  #ofAllThreads(word: number): number {
    let sum = 0
    for (let at = word; at < this.#words.length; at += wordsOfThread) {
      sum += Atomics.load(this.#words, at)
    }
    return sum
  }
}

/** The cells of users, kept for those who come again. */
class UserCells {
  readonly #seed: number
  readonly #known = new Map<string, readonly number[]>()

  constructor(seed: number) {
    this.#seed = seed
  }

  of(user: string): readonly number[] {
    const known = this.#known.get(user)
    if (known !== undefined) return known
    if (this.#known.size >= knownMax) this.#known.clear()
    const cells = Array.from({ length: rows }, (_, row) => {
      const hash = hashOf(user, Math.imul(this.#seed ^ row, 0x9e37_79b1))
      return 1 + row * columns + (hash % columns)
    })
    this.#known.set(user, cells)
    return cells
  }
}

const knownMax = 10_000

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
