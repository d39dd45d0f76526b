/** Entries and changes in records. A value in shared memory is named by its slab and window; any
 *  other travels along. */

import type { Key, Revision } from '@watchglass/base'
import { type Change, type Event, KeyValue, noLease, SlabWriter } from '@watchglass/store'
import type { RecordReader, RecordWriter } from './record.ts'
import type { SlabNames, SlabShelf } from './slabs.ts'

/** The kind of an entry, written before it. */
const removed = 0
const named = 1
const carried = 2
/** Added to both where there is a lease. */
const leased = 4

/** Writes entries, and notes the slabs that they lie in. */
export class EntryWriter {
  readonly record: RecordWriter
  readonly #names: Pick<SlabNames, 'idOf'>
  /** The slabs of the record. */
  slabs: Set<number> = new Set()

  constructor(record: RecordWriter, names: Pick<SlabNames, 'idOf'>) {
    this.record = record
    this.#names = names
  }

  begin(): void {
    this.record.begin()
    if (this.slabs.size > 0) this.slabs = new Set()
  }

  event({ key, after }: Event): void {
    if (after !== undefined) {
      this.entry(after)
      return
    }
    this.record.byte(removed)
    this.record.text(key)
  }

  entry(entry: KeyValue): void {
    const { record } = this
    const { bytes, start, end, lease } = entry
    const slab = this.#names.idOf(bytes)
    record.byte((slab === undefined ? carried : named) + (lease === noLease ? 0 : leased))
    record.text(entry.key)
    record.integer(entry.modRevision)
    record.integer(entry.createRevision)
    record.integer(entry.version)
    if (lease !== noLease) record.big(lease)
    if (slab === undefined) record.raw(bytes, start, end)
    else {
      this.slabs.add(slab)
      record.count(slab)
      record.count(start)
      record.count(end)
    }
  }
}

/** Reads what `EntryWriter` wrote. */
export class EntryReader {
  readonly record: RecordReader
  readonly #shelf: SlabShelf
  readonly #carried = new SlabWriter()

  constructor(record: RecordReader, shelf: SlabShelf) {
    this.record = record
    this.#shelf = shelf
  }

  change(): Change {
    const kind = this.record.byte()
    if (kind === removed) return { type: 'delete', key: this.record.text() as Key }
    return { type: 'put', entry: this.#entry(kind) }
  }

  entry(): KeyValue {
    return this.#entry(this.record.byte())
  }

  #entry(kind: number): KeyValue {
    const { record } = this
    const key = record.text() as Key
    const modRevision = record.integer() as Revision
    const createRevision = record.integer() as Revision
    const version = record.integer()
    const lease = (kind & leased) === 0 ? noLease : record.big()
    const value =
      (kind & named) === 0
        ? this.#carried.copy(record.raw())
        : { bytes: this.#shelf.slab(record.count()), start: record.count(), end: record.count() }
    return new KeyValue(key, value, { createRevision, modRevision, version, lease })
  }
}
