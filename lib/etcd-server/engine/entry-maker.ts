/** Makes the entries of what is written. A value that is like others of its kind is kept as the
 *  difference from one of them: the pods of one template differ in a tenth of their bytes, and the
 *  states through which a pod goes in less. Four fifths of the memory of a large cluster were such
 *  repetitions (bench/actors).
 *
 *  Candidates are the last few values with the same beginning of their keys, up to the last `-`,
 *  `.` or `/`: names that controllers make end in what is random. A candidate lies in a buffer of
 *  its own; when it gives way and no other value is kept as a difference from it, it is moved to a
 *  slab. */

import type { Key } from '@watchglass/base'
import { KeyValue, type KeyValueMeta, slabsAreShared, SlabWriter } from '@watchglass/store'
import { PackedEntry } from './packed-entry.ts'
import { Base, comparedMaxBytes } from './value-difference.ts'

/** With less there is nothing to save: an entry takes 100 bytes itself. */
const comparedMinBytes = 256
/** A difference is at most a third of its value. Else the value becomes a candidate itself. */
const differenceMaxShare = 1 / 3
/** Kinds of which candidates are held: as many templates may be written at once. */
const kindsMax = 256
/** A pod is written as pending, bound and running, and as ending. */
const candidatesMax = 4

/** Bytes that may still be compared before the event loop has its turn. What is written after that
 *  is kept whole. */
export interface CompareRoom {
  bytes: number
}

/** As much takes 5 to 8 ms at worst; etcd takes twice as much in a transaction. */
export const comparedAtOnceMaxBytes: number = 640 * 1024

/** A value keeps no other one in memory that is more than twice as long. */
const baseMaxShare = 2

interface Candidate {
  readonly base: Base
  readonly entry: KeyValue
  isUsed: boolean
}

export class EntryMaker {
  readonly #slabs = new SlabWriter()
  /** Candidates of each kind, the one that was used last at the end. */
  readonly #kinds = new Map<string, Candidate[]>()

  /** An entry with a copy of the value. */
  entry(key: Key, value: Uint8Array, meta: KeyValueMeta, room?: CompareRoom): KeyValue {
    const { length } = value
    const isCompared = length >= comparedMinBytes && length <= comparedMaxBytes
    if (!isCompared || slabsAreShared() || (room !== undefined && room.bytes <= 0)) {
      return new KeyValue(key, this.#slabs.copy(value), meta)
    }
    const candidates = this.#candidatesOf(key)
    const maxBytes = Math.floor(length * differenceMaxShare)
    for (let i = candidates.length - 1; i >= 0; i--) {
      const candidate = candidates[i]!
      const { base } = candidate
      if (base.bytes.length > baseMaxShare * length) continue
      const difference = base.differenceOf(value, maxBytes)
      if (room !== undefined) room.bytes -= base.readBytes
      if (difference === undefined) continue
      candidate.isUsed = true
      if (i < candidates.length - 1) candidates.push(...candidates.splice(i, 1))
      const window = this.#slabs.copy(difference)
      return new PackedEntry(key, { base: base.bytes, window, length }, meta)
    }
    return this.#candidate(candidates, new KeyValue(key, this.#slabs.copyApart(value), meta))
  }

  #candidate(candidates: Candidate[], entry: KeyValue): KeyValue {
    if (candidates.length >= candidatesMax) this.#letGo(candidates.splice(0, 1))
    candidates.push({ base: new Base(entry.bytes), entry, isUsed: false })
    return entry
  }

  #candidatesOf(key: Key): Candidate[] {
    const kind = kindOf(key)
    const known = this.#kinds.get(kind)
    const candidates = known ?? []
    if (known !== undefined) this.#kinds.delete(kind)
    this.#kinds.set(kind, candidates)
    if (this.#kinds.size > kindsMax) {
      const [oldest] = this.#kinds
      this.#kinds.delete(oldest![0])
      this.#letGo(oldest![1])
    }
    return candidates
  }

  #letGo(candidates: readonly Candidate[]): void {
    for (const { entry, isUsed } of candidates) {
      if (!isUsed) entry.move(this.#slabs.copy(entry.bytes, entry.start, entry.end))
    }
  }
}

function kindOf(key: Key): string {
  const end = Math.max(key.lastIndexOf('-'), key.lastIndexOf('.'), key.lastIndexOf('/'))
  return key.slice(0, end + 1)
}
