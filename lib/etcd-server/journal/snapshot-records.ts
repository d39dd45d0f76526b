/** The records of a snapshot of an engine, in parts of a size that can be written at once. */

import { allKeys, ByteWriter } from '@watchglass/base'
import { type Change, type Event, noLease } from '@watchglass/store'
import type { Backup } from '../engine/engine.ts'
import type { RecoveredLease } from '../engine/journal.ts'
import { appendRecord, type JournalRecord, type StartRecord } from './records.ts'

/** The state of an engine at one moment. */
export interface Captured {
  readonly start: StartRecord
  readonly backup: Omit<Backup, 'leases'>
  readonly leases: readonly RecoveredLease[]
  readonly runningMs: number
}

/** A millisecond of encoding, so that writing a snapshot holds nobody up. */
const partBytes = 256 * 1024

export function* snapshotParts(captured: Captured): Generator<Uint8Array> {
  const out = new ByteWriter(partBytes)
  for (const record of recordsOf(captured)) {
    appendRecord(out, record)
    if (out.length < partBytes) continue
    yield out.copy()
    out.clear()
  }
  yield out.copy()
}

function* recordsOf({ start, backup, leases }: Captured): Generator<JournalRecord> {
  const { base, batches, compactRevision, oldestBatch } = backup
  yield start
  yield { type: 'base', revision: base.revision, compactRevision, oldestBatch }
  for (const entry of base.iterate(allKeys)) yield { type: 'entry', entry }
  for (const { revision, events } of batches) {
    yield { type: 'batch', revision, changes: events.map(changeOf), endedLease: noLease }
  }
  for (const lease of leases) yield { type: 'lease', ...lease }
  yield { type: 'end' }
}

function changeOf({ key, after }: Event): Change {
  return after === undefined ? { type: 'delete', key } : { type: 'put', entry: after }
}
