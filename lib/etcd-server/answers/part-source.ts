/** A part of the mirror as watch streams see it. */

import { type Clock, revision, type Revision } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import type { BatchSource } from '../engine/watches/batch-source.ts'
import type { MirroredPart } from './mirrored.ts'
import type { AnsweredRevisions } from './answered-revisions.ts'

/** Clients of kube-apiserver's kind ask for progress ten times a second while somebody waits for
 *  it. */
const refreshEveryMs = 100

export class PartSource implements BatchSource {
  readonly part: MirroredPart
  readonly #answered: AnsweredRevisions
  readonly #clock: Clock
  #seen: Revision
  #refreshedAtMs = -Infinity

  constructor(part: MirroredPart, answered: AnsweredRevisions, clock: Clock) {
    this.part = part
    this.#answered = answered
    this.#clock = clock
    this.#seen = part.proven
  }

  get revision(): Revision {
    return this.part.proven
  }

  get newest(): Revision {
    return revision(Math.max(this.part.proven, this.#answered.revision))
  }

  get compactRevision(): number {
    return this.#answered.compactRevision
  }

  get oldestBatch(): number {
    return this.part.store.oldest + 1
  }

  get isServed(): boolean {
    return this.part.isServed
  }

  get isCutOff(): boolean {
    return this.part.isCutOff
  }

  get isProgressSound(): boolean {
    return this.part.isProgressSound
  }

  /** Nothing may have happened since a client listed, and nothing may happen for long: it is
   *  told so. */
  get syncedStart(): number {
    return this.part.proven + 1
  }

  batches(from: Revision): Iterable<Batch> {
    const { store } = this.part
    const batches = store.since(revision(Math.max(from - 1, store.oldest)))
    if (batches === 'expired') return []
    const { told } = this.part
    return told === undefined ? batches : mapped(batches, told)
  }

  refresh(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#refreshedAtMs < refreshEveryMs) return
    this.#refreshedAtMs = nowMs
    this.part.refresh()
  }

  /** Watchers in sync have seen what has been proven. */
  noteSeen(): void {
    this.#seen = this.part.proven
  }

  /** The contents were replaced. What was seen of an old epoch, which the part's progress may
   *  still be of, is far ahead of this one. */
  beginAnew(): void {
    this.#seen = this.part.store.revision
  }

  /** Up to where watchers in sync had seen everything when the history began anew. */
  get seen(): Revision {
    return this.#seen
  }
}

function* mapped<From, To>(items: Iterable<From>, to: (item: From) => To): Iterable<To> {
  for (const item of items) yield to(item)
}
