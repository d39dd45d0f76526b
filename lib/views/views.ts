/** Answers the questions of views from snapshots, at once or live: what is asked for again from
 *  orders and counts that are kept, all else by one pass over the rows. */

import { NotExact, type Steps } from '@watchglass/base'
import type { Key, Revision } from '@watchglass/base'
import type { Segment } from '@watchglass/codec'
import type { Keyspace, SegmentCache, Snapshot } from '@watchglass/store'
import type { ObjectReaders } from './cells/cell-reader.ts'
import { LiveCounts } from './live/live-counts.ts'
import { LivePage } from './live/live-page.ts'
import type { LiveEnd, LiveView } from './live/live-view.ts'
import { PageChanges } from './live/page-changes.ts'
import { CountFold } from './order/count-fold.ts'
import { type KeptRows, OrderKeeper } from './order/order-keeper.ts'
import { type OrderedRows, pageOf } from './order/page-of.ts'
import { KeyOrder, SortedRows, TreeOrder } from './order/placed-row.ts'
import { RowChoice } from './order/row-choice.ts'
import { sortedRows } from './order/row-pass.ts'
import { followed, type FoldProblem } from './order/store-follower.ts'
import type { ViewQuestion } from './question/parse-view.ts'
import { RowWriter } from './documents/row-writer.ts'
import { countsDocument, pageDocument, type ViewPieces } from './documents/view-document.ts'

export interface ViewsOptions {
  /** Whether there is memory for as many bytes more. */
  readonly fits?: ((bytes: number) => boolean) | undefined
  /** Keeps rows with their objects. */
  readonly segments?: SegmentCache<Segment> | undefined
}

/** The contents and readers that a question is answered from. */
export interface ViewSource extends ObjectReaders {
  /** As fresh as the question's plan asks for. */
  readonly snapshot: Snapshot
  /** Undefined where the contents were read from etcd itself: then nothing is kept. */
  readonly store: Keyspace | undefined
  readonly user?: string | undefined
  /** The wall clock, for ages. */
  readonly wallMs: number
  /** The monotonic clock. */
  readonly nowMs: number
}

/** The contents that a live view begins with, and the keyspace that it follows. */
export interface LiveSource extends ViewSource {
  readonly store: Keyspace
}

/** The body of an answer: JSON without a line feed. */
export interface ViewBody {
  readonly revision: Revision
  readonly pieces: ViewPieces
}

export class Views {
  readonly #orders: OrderKeeper
  readonly #segments: SegmentCache<Segment> | undefined
  /** The changes that live pages are told of, for each keyspace that has some. */
  readonly #changes = new Map<Key, PageChanges>()

  constructor({ fits, segments }: ViewsOptions = {}) {
    this.#orders = new OrderKeeper({ fits })
    this.#segments = segments
  }

  /** The memory that kept orders and counts take. */
  get bytes(): number {
    return this.#orders.bytes
  }

  dropTo(bytes: number): void {
    this.#orders.dropTo(bytes)
  }

  /** Lets go of what nobody has asked for lately. */
  dropIdle(nowMs: number): void {
    this.#orders.dropIdle(nowMs)
  }

  /** The keyspace has other contents, or its objects another definition. */
  reset(keyspace: Key): void {
    this.#orders.forget(keyspace)
    const changes = this.#changes.get(keyspace)
    if (changes !== undefined) changes.isOver = true
    this.#changes.delete(keyspace)
  }

  /** The answer; or why there is none. */
  *answer(question: ViewQuestion, source: ViewSource): Steps<ViewBody | FoldProblem> {
    return question.countBy.length > 0
      ? yield* this.#counts(question, source)
      : yield* this.#page(question, source)
  }

  /** True if an answer costs about what it shows: its rows lie in the order of keys, or what it is
   *  made of is kept. */
  isWarm(question: ViewQuestion): boolean {
    const { sort, countBy, plan } = question
    if (countBy.length > 0) return this.#orders.isKept(question)
    const { where, search } = question
    const isAll = where === undefined && search === '' && plan.labels.isEmpty && plan.fields.isEmpty
    return (isAll && sort.length === 0) || this.#orders.isKept(question)
  }

  /** A view that follows what it shows; 'full' if there are too many of them. Close it. */
  *open(question: ViewQuestion, source: LiveSource): Steps<LiveView | LiveEnd | 'full'> {
    return question.countBy.length > 0
      ? yield* this.#openCounts(question, source)
      : yield* this.#openPage(question, source)
  }

  *#openPage(question: ViewQuestion, source: LiveSource): Steps<LiveView | LiveEnd | 'full'> {
    const { store } = source
    const isInKeyOrder = question.sort.length === 0 && new RowChoice(question, source).isAll
    const order = isInKeyOrder ? undefined : this.#orders.pinRows(question, source)
    if (order === 'full') return 'full'
    const { keyspace } = question.plan
    const known = this.#changes.get(keyspace)
    const changes = known?.store === store ? known : new PageChanges(store)
    this.#changes.set(keyspace, changes)
    const writer = new RowWriter({ question, readers: source, segments: this.#segments })
    const onClosed = (): void => {
      const isLast = changes.size === 0 && this.#changes.get(keyspace) === changes
      if (isLast) this.#changes.delete(keyspace)
    }
    const page = new LivePage({ question, store, changes, order, writer, onClosed })
    return yield* begun(page, page.begin(source.wallMs))
  }

  *#openCounts(question: ViewQuestion, source: LiveSource): Steps<LiveView | LiveEnd | 'full'> {
    const counts = this.#orders.pinCounts(question, source)
    if (counts === 'full') return 'full'
    const view = new LiveCounts({ question, store: source.store, counts })
    return yield* begun(view, view.begin())
  }

  *#page(question: ViewQuestion, source: ViewSource): Steps<ViewBody | NotExact> {
    const found = yield* this.#orderOf(question, source)
    if (found instanceof NotExact) return found
    const writer = new RowWriter({ question, readers: source, segments: this.#segments })
    const page = pageOf(question, found)
    const opening = { opening: '{', question }
    return { revision: page.revision, pieces: pageDocument(opening, page, writer, source.wallMs) }
  }

  /** The rows of a question in their order. */
  *#orderOf(question: ViewQuestion, source: ViewSource): Steps<OrderedRows | NotExact> {
    const { snapshot, wallMs } = source
    const choice = new RowChoice(question, source)
    if (question.sort.length === 0 && choice.isAll) {
      return { order: new KeyOrder(snapshot, question.plan.range), snapshot }
    }
    if (!question.isTimed && !question.isOfMoment && source.store !== undefined) {
      const kept = this.#orders.rows(question, { ...source, store: source.store })
      const found = kept === undefined ? undefined : yield* keptOrder(kept, question, snapshot)
      if (found !== undefined) return found
    }
    const pass = { selection: question, choice, readers: source, snapshot, wallMs }
    const rows = yield* sortedRows(pass)
    return rows instanceof NotExact ? rows : { order: new SortedRows(rows), snapshot }
  }

  *#counts(question: ViewQuestion, source: ViewSource): Steps<ViewBody | FoldProblem> {
    const isExact = question.plan.freshness.type === 'exact'
    if (!isExact && !question.isTimed && source.store !== undefined) {
      const kept = this.#orders.counts(question, { ...source, store: source.store })
      if (kept !== undefined) {
        const snapshot = yield* followed(kept.follower, kept.store)
        if (snapshot instanceof NotExact || snapshot === 'too-many-groups') return snapshot
        if (snapshot !== 'expired') return countsBody(question, kept.fold, snapshot)
      }
    }
    const fold = new CountFold(question, question.countBy, source)
    const problem = yield* fold.count(source.snapshot, source.wallMs)
    return problem ?? countsBody(question, fold, source.snapshot)
  }
}

/** The order of a question that is kept: at the revision that it holds, or else the newest.
 *  Undefined if it is not at hand. */
function* keptOrder(
  { fold, follower, store }: KeptRows,
  { plan }: ViewQuestion,
  snapshot: Snapshot,
): Steps<OrderedRows | NotExact | undefined> {
  if (plan.freshness.type === 'exact') {
    const { revision } = snapshot
    while (follower.revision !== undefined && follower.revision < revision) {
      const step = follower.step(revision)
      if (step instanceof NotExact) return step
      if (step === 'expired' || step === 'too-many-groups') return undefined
      if (step === 'more') yield
    }
    const tree = follower.revision === revision ? fold.tree : fold.heldAt(revision)
    return tree && { order: new TreeOrder(tree), snapshot }
  }
  const latest = yield* followed(follower, store)
  if (latest instanceof NotExact) return latest
  if (latest === 'expired' || latest === 'too-many-groups') return undefined
  fold.hold(latest.revision)
  return { order: new TreeOrder(fold.tree), snapshot: latest }
}

/** A live view that has begun; closed again where it has not, also if nobody takes the steps to
 *  their end. */
function* begun(view: LiveView, beginning: Steps<LiveEnd | undefined>): Steps<LiveView | LiveEnd> {
  let isBegun = false
  try {
    const end = yield* beginning
    isBegun = end === undefined
    return end ?? view
  } finally {
    if (!isBegun) view.close()
  }
}

function countsBody(question: ViewQuestion, fold: CountFold, snapshot: Snapshot): ViewBody {
  const { revision } = snapshot
  const total = snapshot.count(question.plan.range)
  const counted = { revision, total, matched: fold.matched, groups: fold.inOrder() }
  return { revision, pieces: countsDocument({ opening: '{', question }, counted) }
}
