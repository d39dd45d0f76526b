/** Writes the records for workers. What several threads are told is written once: the record
 *  of the last batches and of the last part of a snapshot are kept until the next ones. */

import { assert, type Revision } from '@watchglass/base'
import type { KeyspaceState, MirroredKeyspace, ProgressTrust, ResetReason } from '@watchglass/cache'
import type { Batch, Event, KeyValue, LeafSlice } from '@watchglass/store'
import { EntryWriter } from './entries.ts'
import { reasons, recordKinds, states, trusts } from './facts.ts'
import { RecordWriter } from './record.ts'
import type { SlabNames } from './slabs.ts'

/** A record, and the slabs that it names. */
export interface Encoded {
  readonly bytes: Uint8Array
  readonly slabs: Iterable<number>
}

/** The contents of a feed's progress record. */
export interface ProgressFacts {
  readonly revision: Revision
  readonly witnessed: Revision
  readonly trust: ProgressTrust
  /** The way in which it was proven, where there are several. */
  readonly proof: string | undefined
}

export interface EpochFacts {
  readonly number: number
  readonly expiredThrough: Revision
}

const noSlabs: readonly number[] = []

/** Records of batches that are kept: those of one turn of the event loop, usually. */
const keptMax = 256

/** Changes in one record. A transaction may have a hundred thousand: it is told, and applied, a few
 *  at a time. */
export const changesAtOnce = 256

export class Encoder {
  readonly #record = new RecordWriter()
  readonly #entries: EntryWriter
  readonly #ids = new WeakMap<MirroredKeyspace, number>()
  #lastId = 0
  /** By their first event. */
  readonly #batches = new Map<Event, Encoded>()

  constructor(names: SlabNames) {
    this.#entries = new EntryWriter(this.#record, names)
  }

  /** The number of a keyspace in records. One that is dropped and added again has another. */
  idOf(keyspace: MirroredKeyspace): number {
    const id = this.#ids.get(keyspace) ?? ++this.#lastId
    this.#ids.set(keyspace, id)
    return id
  }

  keyspace(keyspace: MirroredKeyspace, feed: number): Encoded {
    this.#begin('keyspace', keyspace)
    this.#record.count(feed)
    this.#record.text(keyspace.name)
    return this.#plain()
  }

  dropped(keyspace: MirroredKeyspace): Encoded {
    this.#begin('dropped', keyspace)
    return this.#plain()
  }

  state(keyspace: MirroredKeyspace, state: KeyspaceState): Encoded {
    this.#begin('state', keyspace)
    this.#record.byte(states.indexOf(state))
    return this.#plain()
  }

  cleared(keyspace: MirroredKeyspace, reason: ResetReason): Encoded {
    this.#begin('cleared', keyspace)
    this.#record.byte(reasons.indexOf(reason))
    return this.#plain()
  }

  /** The entries of some leaves, the first of a snapshot or not. They are told leaf by leaf, so
   *  that all trees have the same leaves: what threads encode of a leaf is of use to all that have
   *  it. */
  entries(
    keyspace: MirroredKeyspace,
    leaves: readonly LeafSlice<KeyValue>[],
    isFirst: boolean,
  ): Encoded {
    this.#begin('entries', keyspace)
    this.#record.byte(isFirst ? 1 : 0)
    this.#record.count(leaves.length)
    for (const { entries, from, to } of leaves) {
      this.#record.count(to - from)
      for (let i = from; i < to; i++) this.#entries.entry(entries[i]!)
    }
    return { bytes: this.#record.bytes, slabs: this.#entries.slabs }
  }

  restored(keyspace: MirroredKeyspace, revision: Revision): Encoded {
    this.#begin('restored', keyspace)
    this.#record.integer(revision)
    return this.#plain()
  }

  /** The next changes of a batch, of which so many have been told. */
  changes(keyspace: MirroredKeyspace, { revision, events }: Batch, told: number): Encoded {
    const first = events[told]
    assert(first !== undefined, 'a batch has changes until all of them have been told')
    const known = this.#batches.get(first)
    if (known !== undefined) return known
    const end = Math.min(events.length, told + changesAtOnce)
    this.#begin('batch', keyspace)
    this.#record.integer(revision)
    this.#record.byte(told === 0 ? 1 : 0)
    this.#record.byte(end === events.length ? 1 : 0)
    this.#record.count(end - told)
    for (let i = told; i < end; i++) this.#entries.event(events[i]!)
    const encoded = { bytes: Buffer.from(this.#record.bytes), slabs: this.#entries.slabs }
    if (this.#batches.size >= keptMax) this.#batches.clear()
    this.#batches.set(first, encoded)
    return encoded
  }

  progress(feed: number, { revision, witnessed, trust, proof }: ProgressFacts): Encoded {
    this.#begin('progress')
    this.#record.count(feed)
    this.#record.integer(revision)
    this.#record.integer(witnessed)
    this.#record.byte(trusts.indexOf(trust))
    this.#record.text(proof ?? '')
    return this.#plain()
  }

  epoch(mirror: number, { number, expiredThrough }: EpochFacts): Encoded {
    this.#begin('epoch')
    this.#record.count(mirror)
    this.#record.integer(number)
    this.#record.integer(expiredThrough)
    return this.#plain()
  }

  compacted(mirror: number, revision: Revision): Encoded {
    this.#begin('compacted')
    this.#record.count(mirror)
    this.#record.integer(revision)
    return this.#plain()
  }

  retired(slabs: readonly number[]): Encoded {
    this.#begin('retired')
    this.#record.count(slabs.length)
    for (const slab of slabs) this.#record.count(slab)
    return this.#plain()
  }

  /** The places of some values. */
  moved(keyspace: MirroredKeyspace, entries: readonly KeyValue[]): Encoded {
    this.#begin('moved', keyspace)
    this.#record.count(entries.length)
    for (const entry of entries) this.#entries.entry(entry)
    return { bytes: this.#record.bytes, slabs: this.#entries.slabs }
  }

  /** Says that a record with that number was sent another way. */
  elsewhere(id: number): Encoded {
    this.#begin('elsewhere')
    this.#record.count(id)
    return this.#plain()
  }

  /** All threads have been told. */
  forgetBatches(): void {
    if (this.#batches.size > 0) this.#batches.clear()
  }

  #begin(kind: keyof typeof recordKinds, keyspace?: MirroredKeyspace): void {
    this.#entries.begin()
    this.#record.byte(recordKinds[kind])
    if (keyspace !== undefined) this.#record.count(this.idOf(keyspace))
  }

  #plain(): Encoded {
    return { bytes: this.#record.bytes, slabs: noSlabs }
  }
}
