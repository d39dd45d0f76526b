/** The values of the store: entries, events and batches. They are immutable once the store has
 *  them, except for the place of the bytes of a value and of a key. */

import { assert, type Key, type Revision } from '@watchglass/base'

/** The lease of an entry without a lease. Lease ids use all 63 bits, hence bigint. */
export const noLease = 0n

/** One key's state at one revision, as etcd has it.
 *
 *  The value is a window on a slab that other values share, not an object of its own: a million
 *  `Uint8Array` views cost 80 bytes of heap each and double the collector's work. Code on a hot
 *  path reads `bytes` from `start` to `end`; `value` makes a view for all other code. */
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
  /** A number in which a layer above notes something about the value; 0 at first. It is here
   *  because a Map of a million entries would cost ten times as much, and every collection would
   *  visit it. */
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

  /** The memory that this entry keeps and `move` moves: not the value where an entry keeps only its
   *  difference from another (lib/etcd-server/engine/packed-entry.ts). */
  get kept(): ValueWindow {
    return this
  }

  /** Replaces the key by an equal string that is held anyway: that of the entry before. A new
   *  string for each change would be a tenth of what a change leaves on the heap. */
  shareKey(key: Key): void {
    assert(key === this.key, 'an entry keeps its key')
    ;(this as { -readonly [K in 'key']: Key }).key = key
  }

  /** Moves the value: the same bytes are at another place from now on. Only `packSlabs` does this.
   *  Readers see no difference if they read the slab and the window together. */
  move({ bytes, start, end }: ValueWindow): void {
    assert(end - start === this.end - this.start, 'a value is moved whole')
    Object.assign(this as { -readonly [K in keyof ValueWindow]: ValueWindow[K] }, {
      bytes,
      start,
      end,
    })
  }
}

/** The window of a value: its bytes lie in a slab. */
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

/** The change of one key at one revision, as a source delivers it: a put with the new entry, or a
 *  delete. */
export type Change =
  | { readonly type: 'put'; readonly entry: KeyValue }
  | { readonly type: 'delete'; readonly key: Key }

/** The change of one key as the store has applied it, with the entry before. A put has `after`; a
 *  delete has none, and always has `before`. */
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
