/** What the store is made of: entries, events and batches. All are immutable once the store has them, but for where the bytes of a
 *  value and of a key lie. */

import type { Key } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'

/** The lease of an entry that has none. Lease ids use all 63 bits, hence bigint. */
export const noLease = 0n

/** One key's state at one revision, as etcd has it.
 *
 *  The value is a window on a slab that other values share, not an object of its own: a million `Uint8Array` views cost 80
 *  bytes of heap each and double the collector's work (lib/ARCHITECTURE.md, "Large data"). Code on a hot path reads `bytes`
 *  from `start` to `end`; `value` makes a view for everybody else. */
export class KeyValue {
  readonly key: Key
  /** The slab that the value lies in. */
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
  readonly createRevision: Revision
  readonly modRevision: Revision
  readonly version: number
  readonly lease: bigint
  /** What a layer above has found out about the value, as a number that it gives a meaning to; 0 before. It lies here because a map of
   *  a million entries would cost ten times as much, and every collection would go through it. */
  note = 0

  constructor(key: Key, value: ValueWindow, meta: KeyValueMeta) {
    this.key = key
    this.bytes = value.bytes
    this.start = value.start
    this.end = value.end
    this.createRevision = meta.createRevision
    this.modRevision = meta.modRevision
    this.version = meta.version
    this.lease = meta.lease
  }

  /** The value's bytes, not copied. Never write to them. */
  get value(): Uint8Array {
    return this.bytes.subarray(this.start, this.end)
  }

  get valueLength(): number {
    return this.end - this.start
  }

  /** The same key as another string, which is held anyway: that of the entry before. A string for each change would be a tenth of what
   *  a change leaves on the heap. */
  shareKey(key: Key): void {
    ;(this as { -readonly [K in 'key']: Key }).key = key
  }

  /** The same bytes lie elsewhere from now on. Only `packSlabs` does this: readers see no difference, as long as they take the slab
   *  and the window at once. */
  move({ bytes, start, end }: ValueWindow): void {
    Object.assign(this as { -readonly [K in keyof ValueWindow]: ValueWindow[K] }, {
      bytes,
      start,
      end,
    })
  }
}

/** Where a value's bytes are. */
export interface ValueWindow {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

export interface KeyValueMeta {
  readonly createRevision: Revision
  readonly modRevision: Revision
  readonly version: number
  readonly lease: bigint
}

/** What a source says happened to one key at one revision: a put with the entry it left, or a delete. */
export type Change =
  | { readonly type: 'put'; readonly entry: KeyValue }
  | { readonly type: 'delete'; readonly key: Key }

/** One key's change as the store has applied it, with what was there before. A put has `after`; a delete has not, and its
 *  `before` is always there. */
export interface Event {
  readonly key: Key
  readonly before: KeyValue | undefined
  readonly after: KeyValue | undefined
}

/** All events of one revision, in etcd's order. Never split. */
export interface Batch {
  readonly revision: Revision
  readonly events: readonly Event[]
  /** When it was applied: the monotonic milliseconds that were passed in. */
  readonly appliedAtMs: number
}
