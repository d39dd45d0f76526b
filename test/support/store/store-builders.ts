/** Builders of entries and changes for tests of the store and of what stands on it. */

import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { type Change, KeyValue, noLease } from '../../../lib/store/event.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'

/** History that nothing leaves. */
export const unbounded: HistoryBounds = {
  maxBatches: Infinity,
  maxAgeMs: Infinity,
  maxBytes: Infinity,
}

export interface EntryFields {
  readonly key: Key
  readonly value: string
  readonly modRevision: number
  readonly createRevision?: number | undefined
  readonly version?: number | undefined
}

/** An entry with a value of its own. */
export function entryOf(fields: EntryFields): KeyValue {
  const bytes = Buffer.from(fields.value)
  return new KeyValue(
    fields.key,
    { bytes, start: 0, end: bytes.length },
    {
      createRevision: revision(fields.createRevision ?? fields.modRevision),
      modRevision: revision(fields.modRevision),
      version: fields.version ?? 1,
      lease: noLease,
    },
  )
}

/** An entry whose value says which key and revision it is. */
export function entryAt(key: string, modRevision: number): KeyValue {
  return entryOf({ key: keyFromText(key), value: `${key}@${modRevision}`, modRevision })
}

export function putOf(key: string, modRevision: number): Change {
  return { type: 'put', entry: entryAt(key, modRevision) }
}

export function deleteOf(key: string): Change {
  return { type: 'delete', key: keyFromText(key) }
}
