/** Records: decisions of the engine, and the parts of a snapshot of it, as bytes. A payload is
 *
 *      sequence varint   running time varint   records
 *
 *  The sequence counts the frames of a file from 1. The running time is how many milliseconds the
 *  store has run for, over all its starts: leases have what is left of their time whatever the
 *  clock of the machine does, and the time in which nothing runs does not count, as in etcd. */

import {
  appendVarint,
  atOnce,
  ByteWriter,
  CacheError,
  type Key,
  keyFromBytes,
  revision,
  type Revision,
  type Steps,
} from '@watchglass/base'
import type { Change, KeyValue } from '@watchglass/store'
import { changesAtOnce } from '../engine/at-once.ts'
import type { EntryMaker } from '../engine/entry-maker.ts'
import type { EngineDecision, RecoveredLease } from '../engine/journal.ts'

/** The beginning of a process that writes to the folder; also the first record of each file. */
export interface StartRecord {
  readonly type: 'start'
  readonly clusterId: bigint
  readonly memberId: bigint
  readonly raftTerm: bigint
  /** Up to which revision there is everything before this record. */
  readonly revision: number
}

/** The beginning of a snapshot: entries at the revision follow, and then the history since. */
export interface BaseRecord {
  readonly type: 'base'
  readonly revision: Revision
  readonly compactRevision: number
  readonly oldestBatch: number
}

export type JournalRecord =
  | Exclude<EngineDecision, { type: 'lease' }>
  | ({ readonly type: 'lease' } & RecoveredLease)
  | StartRecord
  | BaseRecord
  | { readonly type: 'entry'; readonly entry: KeyValue }
  /** The end of a snapshot, which is not whole without it. */
  | { readonly type: 'end' }

export interface Payload {
  readonly sequence: number
  readonly runningMs: number
  readonly records: readonly JournalRecord[]
}

const tags = {
  batch: 1,
  compaction: 2,
  lease: 3,
  'lease-end': 4,
  start: 5,
  base: 6,
  entry: 7,
  end: 8,
} as const satisfies Record<JournalRecord['type'], number>

const put = 1
const deletion = 0

export function recordOf(decision: EngineDecision): JournalRecord {
  if (decision.type !== 'lease') return decision
  return { ...decision, remainingMs: decision.ttlSeconds * 1000 }
}

export function appendRecord(out: ByteWriter, record: JournalRecord): void {
  atOnce(appendSteps(out, record))
}

/** Appends a record in steps, of which a large batch has many. */
export function* appendSteps(out: ByteWriter, record: JournalRecord): Steps<undefined> {
  out.appendByte(tags[record.type])
  switch (record.type) {
    case 'batch':
      appendVarint(out, record.revision)
      appendId(out, record.endedLease)
      appendVarint(out, record.changes.length)
      for (const [i, change] of record.changes.entries()) {
        if (i > 0 && i % changesAtOnce === 0) yield
        appendChange(out, change)
      }
      return
    case 'compaction':
      appendVarint(out, record.revision)
      return
    case 'lease':
      appendId(out, record.id)
      appendVarint(out, record.ttlSeconds)
      appendVarint(out, record.remainingMs)
      return
    case 'lease-end':
      appendId(out, record.id)
      return
    case 'start':
      appendId(out, record.clusterId)
      appendId(out, record.memberId)
      appendId(out, record.raftTerm)
      appendVarint(out, record.revision)
      return
    case 'base':
      appendVarint(out, record.revision)
      // It is -1 before the first compaction.
      appendVarint(out, record.compactRevision + 1)
      appendVarint(out, record.oldestBatch)
      return
    case 'entry':
      appendEntry(out, record.entry)
      return
    case 'end':
  }
}

/** The payload of these bytes of records. */
export function encodePayload(
  sequence: number,
  runningMs: number,
  records: Uint8Array,
): Uint8Array {
  const out = new ByteWriter(records.length + 20)
  appendVarint(out, sequence)
  appendVarint(out, runningMs)
  out.append(records)
  return out.copy()
}

/** Reads a payload whose checksum is right. Values are copied. */
export function decodePayload(bytes: Buffer, maker: EntryMaker): Payload {
  const reader = new RecordReader(bytes)
  const sequence = reader.number()
  const runningMs = reader.number()
  const records: JournalRecord[] = []
  while (!reader.isAtEnd) records.push(readRecord(reader, maker))
  return { sequence, runningMs, records }
}

function readRecord(reader: RecordReader, maker: EntryMaker): JournalRecord {
  const tag = reader.byte()
  switch (tag) {
    case tags.batch: {
      const at = revision(reader.number())
      const endedLease = reader.id()
      const changes: Change[] = []
      for (let left = reader.number(); left > 0; left--) changes.push(readChange(reader, maker, at))
      return { type: 'batch', revision: at, endedLease, changes }
    }
    case tags.compaction:
      return { type: 'compaction', revision: reader.number() }
    case tags.lease: {
      const id = reader.id()
      const ttlSeconds = reader.number()
      return { type: 'lease', id, ttlSeconds, remainingMs: reader.number() }
    }
    case tags['lease-end']:
      return { type: 'lease-end', id: reader.id() }
    case tags.start: {
      const unsigned = (): bigint => BigInt.asUintN(64, reader.id())
      const [clusterId, memberId, raftTerm] = [unsigned(), unsigned(), unsigned()]
      return { type: 'start', clusterId, memberId, raftTerm, revision: reader.number() }
    }
    case tags.base: {
      const at = revision(reader.number())
      const compactRevision = reader.number() - 1
      return { type: 'base', revision: at, compactRevision, oldestBatch: reader.number() }
    }
    case tags.entry:
      return { type: 'entry', entry: readEntry(reader, maker, undefined) }
    case tags.end:
      return { type: 'end' }
    default:
      throw unreadable(`a record of the unknown kind ${tag}`)
  }
}

function appendChange(out: ByteWriter, change: Change): void {
  if (change.type === 'delete') {
    out.appendByte(deletion)
    appendKey(out, change.key)
  } else {
    out.appendByte(put)
    appendEntry(out, change.entry)
  }
}

function readChange(reader: RecordReader, maker: EntryMaker, at: Revision): Change {
  if (reader.byte() === deletion) return { type: 'delete', key: reader.key() }
  return { type: 'put', entry: readEntry(reader, maker, at) }
}

function appendEntry(out: ByteWriter, entry: KeyValue): void {
  appendKey(out, entry.key)
  appendVarint(out, entry.createRevision)
  appendVarint(out, entry.modRevision)
  appendVarint(out, entry.version)
  appendId(out, entry.lease)
  appendVarint(out, entry.valueLength)
  out.append(entry.bytes, entry.start, entry.end)
}

/** `at` is the revision of the batch that the entry is in. */
function readEntry(reader: RecordReader, maker: EntryMaker, at: Revision | undefined): KeyValue {
  const key = reader.key()
  const createRevision = revision(reader.number())
  const modRevision = revision(reader.number())
  const version = reader.number()
  const lease = reader.id()
  if (at !== undefined && modRevision !== at) {
    throw unreadable(`an entry of revision ${modRevision} in the batch of revision ${at}`)
  }
  const { bytes, start, end } = reader.window()
  const meta = { createRevision, modRevision, version, lease }
  return maker.entry(key, bytes.subarray(start, end), meta)
}

/** A key has one character for each byte. */
function appendKey(out: ByteWriter, key: Key): void {
  appendVarint(out, key.length)
  out.appendAscii(key)
}

/** 64 bits: ids of leases are signed, those of clusters and members are not. */
function appendId(out: ByteWriter, id: bigint): void {
  out.reserve(out.length + 8)
  out.view.setBigInt64(out.length, id, true)
  out.length += 8
}

class RecordReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  byte(): number {
    return this.#bytes[this.#take(1)] as number
  }

  number(): number {
    let value = 0
    for (let scale = 1; scale < 2 ** 56; scale *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (Number.isSafeInteger(value)) return value
        break
      }
    }
    throw unreadable('a number that is too large')
  }

  id(): bigint {
    return this.#bytes.readBigInt64LE(this.#take(8))
  }

  key(): Key {
    const { bytes, start, end } = this.window()
    return keyFromBytes(bytes.subarray(start, end))
  }

  window(): { bytes: Buffer; start: number; end: number } {
    const length = this.number()
    const start = this.#take(length)
    return { bytes: this.#bytes, start, end: this.#at }
  }

  /** The position of so many bytes, which are passed over. */
  #take(length: number): number {
    const start = this.#at
    if (start + length > this.#bytes.length) throw unreadable('a record that ends too early')
    this.#at += length
    return start
  }
}

function unreadable(what: string): CacheError {
  return new CacheError('invalid_request', `has ${what}, although its checksum is right`)
}
