/** A member of the engine as watch streams see it. */

import type { Revision } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import type { HeaderMessage } from '@watchglass/etcd'
import type { WatchHome, BatchSource } from './watches/batch-source.ts'

/** The part of a member that watches need. */
export interface WatchedMember {
  /** Up to which revision batches are applied here. */
  readonly revision: Revision
  readonly compactRevision: number
  /** The first revision whose batch may still be there. */
  readonly oldestBatch: number
  readonly progressOvertakesEvents: boolean
  header(revision: number): HeaderMessage
  /** The applied batches from `from` on. */
  batches(from: Revision): Iterable<Batch>
}

export class MemberWatches implements WatchHome, BatchSource {
  readonly isServed = true
  readonly isCutOff = false
  readonly isProgressSound = true
  readonly answersProgressLater = false
  readonly elsewhere = undefined
  readonly #member: WatchedMember

  constructor(member: WatchedMember) {
    this.#member = member
  }

  get revision(): Revision {
    return this.#member.revision
  }

  get newest(): Revision {
    return this.#member.revision
  }

  get syncedStart(): number {
    return this.#member.revision
  }

  get compactRevision(): number {
    return this.#member.compactRevision
  }

  get oldestBatch(): number {
    return this.#member.oldestBatch
  }

  get progressOvertakesEvents(): boolean {
    return this.#member.progressOvertakesEvents
  }

  header(revision: number): HeaderMessage {
    return this.#member.header(revision)
  }

  batches(from: Revision): Iterable<Batch> {
    return this.#member.batches(from)
  }

  isSameHistory(): boolean {
    return true
  }

  mayWatch(): boolean {
    return true
  }

  sourceOf(): BatchSource {
    return this
  }

  /** A member knows how far it is. */
  refresh(): void {}
}
