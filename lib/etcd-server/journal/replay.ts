/** The state that the records of a data folder come to: first those of a snapshot, then those of
 *  the logs since. Everything has to follow from what is there; anything else is refused. No
 *  I/O. */

import { CacheError, revision, type Revision } from '@watchglass/base'
import { BTreeBuilder, type KeyValue, noLease } from '@watchglass/store'
import { createContents, type RecoveredState } from '../engine/journal.ts'
import type { BaseRecord, JournalRecord, Payload, StartRecord } from './records.ts'

/** A recovered state, and the clock of it. */
export interface ReplayedState extends RecoveredState {
  readonly runningMs: number
}

export class Replay {
  readonly #contents = createContents()
  readonly #leases = new Map<bigint, { ttlSeconds: number; endMs: number }>()
  /** Entries of the base, until they are all there. */
  #building: BTreeBuilder<KeyValue> | undefined
  #base: BaseRecord | undefined
  #start: StartRecord | undefined
  #compactRevision = -1
  #hasEnded = false
  #sequence = 0
  #runningMs = 0

  /** The files of the folder follow each other: the frames of each count from 1. */
  beginFile(): void {
    this.#sequence = 0
  }

  apply({ sequence, runningMs, records }: Payload): void {
    if (sequence !== this.#sequence + 1) {
      throw invalid(`frame ${sequence} comes after frame ${this.#sequence}: there is a gap`)
    }
    this.#sequence = sequence
    this.#runningMs = Math.max(this.#runningMs, runningMs)
    for (const record of records) this.#apply(record)
  }

  /** True once a whole snapshot was read. */
  get hasSnapshot(): boolean {
    return this.#hasEnded
  }

  /** The number of the frame that was applied last. */
  get sequence(): number {
    return this.#sequence
  }

  finish(): ReplayedState {
    const [base, start] = [this.#base, this.#start]
    if (base === undefined || start === undefined) throw invalid('there is no snapshot')
    return {
      contents: this.#contents,
      clusterId: start.clusterId,
      memberId: start.memberId,
      raftTerm: start.raftTerm,
      compactRevision: this.#compactRevision,
      oldestBatch: base.oldestBatch,
      leases: [...this.#leases].map(([id, { ttlSeconds, endMs }]) => ({
        id,
        ttlSeconds,
        remainingMs: Math.max(0, endMs - this.#runningMs),
      })),
      runningMs: this.#runningMs,
    }
  }

  #apply(record: JournalRecord): void {
    if (record.type !== 'entry') this.#finishBase()
    switch (record.type) {
      case 'start':
        this.#begin(record)
        return
      case 'base':
        this.#base = record
        this.#building = new BTreeBuilder()
        return
      case 'entry':
        if (this.#building === undefined) throw invalid('has an entry outside of the base')
        this.#building.add(record.entry)
        return
      case 'end':
        this.#hasEnded = true
        return
      case 'batch': {
        if (record.endedLease !== noLease) this.#leases.delete(record.endedLease)
        this.#contents.apply(this.#following(record.revision), record.changes, 0)
        return
      }
      case 'compaction':
        this.#compact(record.revision)
        return
      case 'lease': {
        const { id, ttlSeconds, remainingMs } = record
        this.#leases.set(id, { ttlSeconds, endMs: this.#runningMs + remainingMs })
        return
      }
      case 'lease-end':
        this.#leases.delete(record.id)
    }
  }

  #begin(start: StartRecord): void {
    const known = this.#start
    if (known !== undefined) {
      if (start.clusterId !== known.clusterId || start.memberId !== known.memberId) {
        throw invalid('is of another cluster than the files before it')
      }
      this.#checkReached(start.revision)
    }
    this.#start = start
  }

  #finishBase(): void {
    const [base, building] = [this.#base, this.#building]
    if (base === undefined || building === undefined) return
    this.#building = undefined
    this.#contents.restore(building.finish(), base.revision)
    this.#compactRevision = base.compactRevision
  }

  /** In a snapshot the history may skip revisions, as a recording may; in a log none is missing. */
  #following(at: Revision): Revision {
    if (this.#hasEnded) this.#checkReached(at - 1)
    return at
  }

  #checkReached(expected: number): void {
    const { revision: reached } = this.#contents
    if (expected === reached) return
    throw invalid(`goes on at revision ${expected}, and what is before it ends at ${reached}`)
  }

  /** The batch of the compacted revision itself is kept, as the engine keeps it. */
  #compact(at: number): void {
    this.#compactRevision = at
    const floor = at - 1
    if (floor > this.#contents.oldest) this.#contents.compact(revision(floor))
  }
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
