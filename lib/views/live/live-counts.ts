/** Counts that are looked at: the groups whose number has changed since they were told last. */

import { NotExact, type Revision, type Steps } from '@watchglass/base'
import type { Keyspace, Snapshot } from '@watchglass/store'
import type { CountFold, GroupListener, RowGroup } from '../order/count-fold.ts'
import type { Pinned } from '../order/order-keeper.ts'
import { followed } from '../order/store-follower.ts'
import type { ViewQuestion } from '../question/parse-view.ts'
import {
  type CountedRows,
  countsChangeDocument,
  countsDocument,
  firstOf,
  type ViewPieces,
} from '../documents/view-document.ts'
import type { LiveEnd, LiveView } from './live-view.ts'

export interface LiveCountsParts {
  readonly question: ViewQuestion
  readonly store: Keyspace
  readonly counts: Pinned<CountFold>
}

export class LiveCounts implements LiveView, GroupListener {
  readonly #parts: LiveCountsParts
  /** The groups as they were told. */
  readonly #shown = new Map<string, RowGroup>()
  readonly #changed = new Set<string>()
  #isRecounted = false
  #revision = 0 as Revision
  #total = 0
  #first: ViewPieces | undefined
  #isClosed = false
  readonly dueAtMs: number = Infinity

  constructor(parts: LiveCountsParts) {
    this.#parts = parts
    parts.counts.kept.fold.listeners.add(this)
  }

  /** Counts for the first time. */
  *begin(): Steps<LiveEnd | undefined> {
    const snapshot = yield* this.#settle()
    if (isEnd(snapshot)) return snapshot
    const { question, counts } = this.#parts
    for (const [name, group] of counts.kept.fold.groups) this.#shown.set(name, group)
    this.#changed.clear()
    this.#isRecounted = false
    const groups = counts.kept.fold.inOrder()
    const counted = { ...this.#counted(snapshot, []), groups }
    this.#first = countsDocument({ opening: '{"type":"PAGE",', question }, counted)
    return undefined
  }

  get first(): ViewPieces {
    return firstOf(this.#first)
  }

  get revision(): Revision {
    return this.#revision
  }

  *next(): Steps<ViewPieces | undefined | LiveEnd> {
    const snapshot = yield* this.#settle()
    if (isEnd(snapshot)) return snapshot
    const { groups } = this.#parts.counts.kept.fold
    if (this.#isRecounted) for (const name of this.#shown.keys()) this.#changed.add(name)
    if (this.#isRecounted) for (const name of groups.keys()) this.#changed.add(name)
    const changed: RowGroup[] = []
    const removed: RowGroup[] = []
    for (const name of this.#changed) {
      const [shown, group] = [this.#shown.get(name), groups.get(name)]
      if (group === undefined) {
        if (shown !== undefined) removed.push(shown)
        this.#shown.delete(name)
      } else if (group.count !== shown?.count) {
        this.#shown.set(name, group)
        changed.push(group)
      }
    }
    this.#changed.clear()
    this.#isRecounted = false
    const total = snapshot.count(this.#parts.question.plan.range)
    if (changed.length === 0 && removed.length === 0 && total === this.#total) return undefined
    return countsChangeDocument(this.#counted(snapshot, changed), removed)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const { counts } = this.#parts
    counts.kept.fold.listeners.delete(this)
    counts.release()
  }

  counted(name: string): void {
    this.#changed.add(name)
  }

  recounted(): void {
    this.#isRecounted = true
  }

  #counted(snapshot: Snapshot, groups: readonly RowGroup[]): CountedRows {
    const { question, counts } = this.#parts
    this.#revision = snapshot.revision
    this.#total = snapshot.count(question.plan.range)
    const { revision } = snapshot
    return { revision, total: this.#total, matched: counts.kept.fold.matched, groups }
  }

  *#settle(): Steps<Snapshot | LiveEnd> {
    const { store, counts } = this.#parts
    if (this.#isClosed || counts.isOver()) return 'expired'
    return yield* followed(counts.kept.follower, store)
  }
}

function isEnd(value: unknown): value is LiveEnd {
  return value instanceof NotExact || value === 'too-many-groups' || value === 'expired'
}
