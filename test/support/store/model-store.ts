/** The simplest possible keyspace, a model for tests: every revision is kept whole, and every
 *  question is answered by a full scan. */

import type { Key, KeyRange } from '../../../lib/base/keys.ts'
import type { Change, KeyValue } from '../../../lib/store/event.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'

export interface ModelEvent {
  readonly key: Key
  readonly before: KeyValue | undefined
  readonly after: KeyValue | undefined
}

export interface ModelBatch {
  readonly revision: number
  readonly events: readonly ModelEvent[]
  readonly appliedAtMs: number
}

/** The contents at one revision, in key order. */
export type ModelContents = readonly KeyValue[]

export class ModelStore {
  readonly #bounds: HistoryBounds
  /** The contents at every revision at which they changed, from the restored one on. */
  #versions: { readonly revision: number; readonly contents: ModelContents }[]
  #batches: ModelBatch[] = []
  latest: number
  oldest: number

  constructor(bounds: HistoryBounds, contents: ModelContents, revision: number) {
    this.#bounds = bounds
    this.#versions = [{ revision, contents }]
    this.latest = revision
    this.oldest = revision
  }

  apply(revision: number, changes: readonly Change[], nowMs: number): ModelBatch {
    const contents = new Map(this.at(this.latest).map(entry => [entry.key, entry]))
    const events = changes.map(change => {
      const key = change.type === 'put' ? change.entry.key : change.key
      const before = contents.get(key)
      const after = change.type === 'put' ? change.entry : undefined
      if (after === undefined) contents.delete(key)
      else contents.set(key, after)
      return { key, before, after }
    })
    const sorted = [...contents.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    const batch = { revision, events, appliedAtMs: nowMs }
    this.#versions.push({ revision, contents: sorted })
    this.#batches.push(batch)
    this.latest = revision
    this.#expire(nowMs)
    return batch
  }

  advance(revision: number, nowMs: number): void {
    this.latest = revision
    this.#expire(nowMs)
  }

  compact(revision: number): void {
    this.oldest = Math.max(this.oldest, revision)
  }

  at(revision: number): ModelContents {
    return this.#versions.findLast(version => version.revision <= revision)?.contents ?? []
  }

  /** The revision at which the contents at `revision` came to be. */
  changedAt(revision: number): number {
    return this.#versions.findLast(version => version.revision <= revision)?.revision ?? 0
  }

  since(revision: number): ModelBatch[] | 'expired' {
    if (revision < this.oldest) return 'expired'
    return this.#batches.filter(batch => batch.revision > revision)
  }

  /** Every batch that is too old or one too many takes the revisions below it along. */
  #expire(nowMs: number): void {
    const { maxBatches, maxAgeMs } = this.#bounds
    const held = this.#batches.filter(batch => batch.revision > this.oldest)
    held.forEach((batch, i) => {
      if (held.length - i > maxBatches || nowMs - batch.appliedAtMs > maxAgeMs) {
        this.oldest = batch.revision
      }
    })
  }
}

/** The entries in a range, by looking at all. */
export function inModelRange(contents: ModelContents, { start, end }: KeyRange): KeyValue[] {
  return contents.filter(({ key }) => key >= start && (end === undefined || key < end))
}
