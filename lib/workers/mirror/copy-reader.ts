/** Reads the records that a feeder wrote, and does to the copies what they say. */

import { revision, type Revision } from '@watchglass/base'
import type { MirroredKeyspace } from '@watchglass/cache'
import { BTreeBuilder, type Change, type KeyValue, type PreparedBatch } from '@watchglass/store'
import { EntryReader } from './entries.ts'
import type { ProgressFacts } from './encoder.ts'
import { reasons, recordKinds, states, trusts } from './facts.ts'
import { RecordReader } from './record.ts'
import type { SlabShelf } from './slabs.ts'

/** The receiver of records that are no contents. */
export interface CopyTarget {
  /** The copy of a keyspace; a new one if there is none. */
  declared(name: string, feed: number): MirroredKeyspace
  dropped(keyspace: MirroredKeyspace): void
  /** Clients may see this revision of a keyspace from now on. */
  showing(keyspace: MirroredKeyspace, revision: Revision): void
  progressed(feed: number, facts: ProgressFacts): void
  epochStarted(mirror: number, number: number, expiredThrough: Revision): void
  compacted(mirror: number, revision: Revision): void
}

export interface CopyReaderOptions {
  readonly shelf: SlabShelf
  /** A record that was too long for the ring. */
  readonly takeRecord: (id: number) => SharedArrayBuffer
}

/** The first changes of a batch. `prepared` is of these very changes: it takes those that are added
 *  to them. Undefined where there is nothing to do, as the contents are newer. */
interface PartialBatch {
  readonly changes: Change[]
  readonly prepared: PreparedBatch | undefined
}

function noChanges(): PartialBatch {
  return { changes: [], prepared: undefined }
}

export class CopyReader {
  readonly #ring: Buffer
  readonly #options: CopyReaderOptions
  readonly #target: CopyTarget
  readonly #record = new RecordReader()
  readonly #entries: EntryReader
  readonly #keyspaces = new Map<number, MirroredKeyspace>()
  /** Snapshots that are being told. When an epoch starts, those of other mirrors go on, and those
   *  of its mirror begin again. */
  readonly #builders = new Map<number, BTreeBuilder<KeyValue>>()
  /** Transactions of which not all was told. Nobody sees them before that. */
  readonly #partial = new Map<number, PartialBatch>()

  constructor(ring: Buffer, options: CopyReaderOptions, target: CopyTarget) {
    this.#ring = ring
    this.#options = options
    this.#target = target
    this.#entries = new EntryReader(this.#record, options.shelf)
  }

  /** Takes the record that begins there in the ring. */
  take(start: number): void {
    this.#record.begin(this.#ring, start)
    const kind = this.#record.byte()
    if (kind !== recordKinds.elsewhere) {
      this.#apply(kind)
      return
    }
    this.#record.begin(Buffer.from(this.#options.takeRecord(this.#record.count())), 0)
    this.#apply(this.#record.byte())
  }

  #apply(kind: number): void {
    const record = this.#record
    switch (kind) {
      case recordKinds.progress: {
        const [feed, at, witnessed] = [record.count(), this.#revision(), this.#revision()]
        const trust = trusts[record.byte()]!
        const proof = record.text() || undefined
        this.#target.progressed(feed, { revision: at, witnessed, trust, proof })
        return
      }
      case recordKinds.epoch: {
        const [mirror, number] = [record.count(), record.integer()]
        this.#target.epochStarted(mirror, number, this.#revision())
        return
      }
      case recordKinds.compacted: {
        const mirror = record.count()
        this.#target.compacted(mirror, this.#revision())
        return
      }
      case recordKinds.retired:
        for (let left = record.count(); left > 0; left--) this.#options.shelf.forget(record.count())
        return
      case recordKinds.keyspace: {
        const [id, feed] = [record.count(), record.count()]
        this.#keyspaces.set(id, this.#target.declared(record.text(), feed))
        return
      }
      default:
        this.#applyTo(record.count(), kind)
    }
  }

  #applyTo(id: number, kind: number): void {
    const keyspace = this.#keyspaces.get(id)
    if (keyspace === undefined) throw new Error(`keyspace ${id} was not declared`)
    const record = this.#record
    switch (kind) {
      case recordKinds.dropped:
        this.#keyspaces.delete(id)
        this.#forgetParts(id)
        this.#target.dropped(keyspace)
        return
      case recordKinds.state:
        keyspace.enter(states[record.byte()]!)
        return
      case recordKinds.cleared:
        this.#forgetParts(id)
        keyspace.clear(reasons[record.byte()]!)
        return
      case recordKinds.entries:
        this.#takeEntries(id)
        return
      case recordKinds.restored: {
        const at = this.#revision()
        const builder = this.#builders.get(id)
        if (builder === undefined) throw new Error(`keyspace ${id} was restored from nothing`)
        this.#forgetParts(id)
        this.#target.showing(keyspace, at)
        keyspace.restore(builder.finish(), at)
        return
      }
      case recordKinds.moved:
        this.#takeMoved(keyspace)
        return
      case recordKinds.batch:
        this.#takeChanges(id, keyspace)
        return
      default:
        throw new Error(`record of unknown kind ${kind}`)
    }
  }

  /** Applies a batch. Of a large one the changes that have come are worked into new contents,
   *  which are shown when the last ones are in them. */
  #takeChanges(id: number, keyspace: MirroredKeyspace): void {
    const record = this.#record
    const at = this.#revision()
    const [isFirst, isLast] = [record.byte() === 1, record.byte() === 1]
    const { changes, prepared } = isFirst ? noChanges() : this.#partOf(id)
    for (let left = record.count(); left > 0; left--) changes.push(this.#entries.change())
    if (!isLast) {
      const begun = isFirst ? keyspace.prepare(at, changes) : prepared
      begun?.step(changes.length)
      this.#partial.set(id, { changes, prepared: begun })
      return
    }
    this.#partial.delete(id)
    this.#target.showing(keyspace, at)
    keyspace.apply(at, changes, prepared)
  }

  #partOf(id: number): PartialBatch {
    const partial = this.#partial.get(id)
    if (partial === undefined) throw new Error(`keyspace ${id} has no batch that goes on`)
    return partial
  }

  /** Other contents begin, or there are none any more. */
  #forgetParts(id: number): void {
    this.#builders.delete(id)
    this.#partial.delete(id)
  }

  /** An entry that has changed since has its own place. */
  #takeMoved(keyspace: MirroredKeyspace): void {
    for (let left = this.#record.count(); left > 0; left--) {
      const moved = this.#entries.entry()
      const known = keyspace.store.latest().get(moved.key)
      if (known?.modRevision === moved.modRevision) known.move(moved)
    }
  }

  /** The first part of a snapshot drops what came of another one. */
  #takeEntries(id: number): void {
    const record = this.#record
    if (record.byte() === 1) this.#builders.set(id, new BTreeBuilder())
    const builder = this.#builders.get(id)
    if (builder === undefined) throw new Error(`keyspace ${id} has no snapshot`)
    for (let leaves = record.count(); leaves > 0; leaves--) {
      for (let left = record.count(); left > 0; left--) builder.add(this.#entries.entry())
      builder.endLeaf()
    }
  }

  #revision(): Revision {
    return revision(this.#record.integer())
  }
}
