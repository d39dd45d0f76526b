/** A keyspace of texts with a hub, and sinks that count frames, for tests of watchers. */

import assert from 'node:assert/strict'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { type Change, type Event, KeyValue, noLease } from '../../../lib/store/event.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import type { Framed, RequiredTerms, AudienceSpec } from '../../../lib/store/watch/audience.ts'
import { Hub } from '../../../lib/store/watch/hub.ts'
import type { Watcher, WatcherSink } from '../../../lib/store/watch/watcher.ts'

/** Keeps everything. */
export const roomy: HistoryBounds = { maxBatches: 1_000, maxAgeMs: 1e9, maxBytes: 1e9 }

/** Requires that a value begins so. */
export function beginsWith(...terms: string[]): RequiredTerms {
  return { index: 'first', terms, termsOf: entry => [textOf(entry).slice(0, 1)] }
}

/** The text of an entry's value. */
export function textOf(entry: KeyValue | undefined): string {
  return entry === undefined ? '' : Buffer.from(entry.value).toString()
}

/** A put of a text. */
export function put(key: string, value: string, at: number): Change {
  const bytes = Buffer.from(value)
  const meta = {
    createRevision: revision(at),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  }
  return {
    type: 'put',
    entry: new KeyValue(keyFromText(key), { bytes, start: 0, end: bytes.length }, meta),
  }
}

/** Frames say key, revision and value. A value that begins with `!` cannot be told. */
export function frameOf(event: Event, at: Revision): Framed {
  const value = textOf(event.after)
  return value.startsWith('!') ? 'inexact' : Buffer.from(`${event.key}@${at}=${value}`)
}

/** The specification of an audience: of everything, unless it says otherwise. */
export function spec(part: Partial<AudienceSpec> & { id: string }): AudienceSpec {
  return { range: allKeys, frameOf, ...part }
}

/** A sink that takes so many frames and then is full. */
export class CountingSink implements WatcherSink {
  readonly frames: string[] = []
  room: number
  expiredAt: number | undefined
  inexactAt: number | undefined
  /** A part of the batch that cannot be told was written. */
  isCutOff = false

  constructor(room: number = Infinity) {
    this.room = room
  }
  write(frame: Uint8Array): boolean {
    assert.ok(this.room > 0, 'a full sink is not written to')
    this.frames.push(Buffer.from(frame).toString())
    return --this.room > 0
  }
  expired(oldest: Revision): void {
    this.expiredAt = oldest
  }
  inexact(at: Revision, isBegun: boolean): void {
    this.inexactAt = at
    this.isCutOff = isBegun
  }
}

/** A keyspace and its hub. */
export class World {
  readonly keyspace: Keyspace
  readonly hub: Hub
  work = 0

  constructor(bounds: HistoryBounds = roomy) {
    this.keyspace = new Keyspace(bounds)
    this.hub = new Hub({ history: this.keyspace, onWork: () => this.work++ })
  }
  apply(at: number, ...changes: Change[]): void {
    this.hub.publish(this.keyspace.apply(revision(at), changes, at))
  }
  watch(sink: WatcherSink, part: Partial<AudienceSpec> & { id: string }, from = 0): Watcher {
    return this.hub.add(spec(part), revision(from), sink)
  }
}

/** Never over. */
export const never = (): boolean => false

/** Lets so many watchers have their turn. */
export function after(turns: number): () => boolean {
  let left = turns
  return () => left-- <= 0
}
