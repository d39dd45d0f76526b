/** A page that is looked at: the rows that entered, left and changed since it was told last. It
 *  costs what happens on the page: where nothing of the order has changed and no row of it was
 *  touched, two comparisons. */

import { type Key, NotExact, type Revision, type Steps } from '@watchglass/base'
import type { KeyValue, Keyspace, Snapshot } from '@watchglass/store'
import type { OrderFold } from '../order/order-fold.ts'
import type { Pinned } from '../order/order-keeper.ts'
import { KeyOrder, type PlacedRow, type RowOrder, TreeOrder } from '../order/placed-row.ts'
import type { ViewQuestion } from '../question/parse-view.ts'
import { firstIndex, type PageRows } from '../order/page-of.ts'
import type { RowWriter } from '../documents/row-writer.ts'
import {
  changeDocument,
  type ChangedRow,
  firstOf,
  type PageChange,
  pageDocument,
  type ViewPieces,
} from '../documents/view-document.ts'
import type { LiveEnd, LiveView } from './live-view.ts'
import { type ChangedPage, type PageChanges, together } from './page-changes.ts'

export interface LivePageParts {
  readonly question: ViewQuestion
  readonly store: Keyspace
  readonly changes: PageChanges
  /** Undefined for a page of everything in the order of keys. */
  readonly order: Pinned<OrderFold> | undefined
  readonly writer: RowWriter
  /** The page is over. */
  readonly onClosed: () => void
}

/** A row as it was shown. */
interface ShownRow {
  readonly entry: KeyValue
  readonly name: string
}

/** Counts that have changed alone are told so often: each object that comes or goes anywhere
 *  changes them. */
const countsEveryMs = 2_000

export class LivePage implements LiveView, ChangedPage {
  readonly #parts: LivePageParts
  /** The rows in order, and what is shown of each. */
  #rows: readonly PlacedRow[] = []
  readonly #shown = new Map<Key, ShownRow>()
  readonly #touched = new Set<Key>()
  #isAllTouched = false
  /** The root of the order, and how many objects had come and gone, when rows were looked up. */
  #root: unknown
  #comings = -1
  #revision = 0 as Revision
  /** Index of the first row. */
  #from = 0
  /** The counts that were told. */
  #counts: Pick<PageRows, 'total' | 'matched'> = { total: 0, matched: 0 }
  /** The counts may be others by now. */
  #hasUntold = false
  #toldAtMs = 0
  #first: ViewPieces | undefined
  #isClosed = false

  constructor(parts: LivePageParts) {
    this.#parts = parts
    parts.changes.open(this)
  }

  /** Finds the first rows. */
  *begin(wallMs: number): Steps<LiveEnd | undefined> {
    const snapshot = yield* this.#settle(wallMs)
    if (isEnd(snapshot)) return snapshot
    const changed = this.#look(snapshot)
    if (changed instanceof NotExact) return changed
    const { question, writer } = this.#parts
    const { revision } = snapshot
    const entries = this.#rows.map(({ target }) => this.#shown.get(target)!.entry)
    const counts = this.#counted(snapshot)
    const last = this.#rows.at(-1)?.key
    const page = { ...counts, revision, from: this.#from, entries, last }
    this.#told(snapshot, counts, wallMs)
    this.#first = pageDocument({ opening: '{"type":"PAGE",', question }, page, writer, wallMs)
    return undefined
  }

  get first(): ViewPieces {
    return firstOf(this.#first)
  }

  get revision(): Revision {
    return this.#revision
  }

  get dueAtMs(): number {
    const turn = this.#parts.order?.kept.fold.nextTurnMs ?? Infinity
    return this.#hasUntold ? Math.min(turn, this.#toldAtMs + countsEveryMs) : turn
  }

  next(wallMs: number): Steps<ViewPieces | undefined | LiveEnd> {
    return this.#isUnchanged(wallMs) ? unchanged : this.#changed(wallMs)
  }

  /** True if a page before this one has brought everything up to date, and nothing of it concerns
   *  this page. Most pages see nothing of most changes. */
  #isUnchanged(wallMs: number): boolean {
    const { store, changes, order } = this.#parts
    if (this.#isClosed || changes.isOver) return false
    if (changes.follower.revision !== store.revision) return false
    if (this.#touched.size > 0 || this.#isAllTouched || wallMs >= this.dueAtMs) return false
    const hasCome = this.#comings !== changes.comings
    if (order === undefined) return !hasCome
    const { fold, follower } = order.kept
    if (order.isOver() || follower.revision !== store.revision) return false
    if (hasCome) this.#hasUntold = true
    return fold.tree.root === this.#root
  }

  *#changed(wallMs: number): Steps<ViewPieces | undefined | LiveEnd> {
    const snapshot = yield* this.#settle(wallMs)
    if (isEnd(snapshot)) return snapshot
    const changed = this.#look(snapshot)
    if (changed instanceof NotExact) return changed
    const { left, rows } = changed
    const isQuiet = left.length === 0 && rows.length === 0
    const isDue = Math.abs(wallMs - this.#toldAtMs) >= countsEveryMs
    if (isQuiet && !(this.#hasUntold && isDue)) return undefined
    const counts = this.#counted(snapshot)
    const areSame = counts.total === this.#counts.total && counts.matched === this.#counts.matched
    this.#told(snapshot, counts, wallMs)
    if (isQuiet && areSame) return undefined
    const { revision } = snapshot
    const last = this.#rows.at(-1)?.key
    const [from, shown] = [this.#from, this.#rows.length]
    const change = { ...counts, revision, from, shown, last, left, rows }
    return changeDocument(change, this.#parts.writer, wallMs)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const { changes, order, onClosed } = this.#parts
    changes.close(this, this.#shown.keys())
    order?.release()
    onClosed()
  }

  touched(key: Key): void {
    this.#touched.add(key)
  }

  touchedAll(): void {
    this.#isAllTouched = true
  }

  /** Waits until the order and the changes are those of the latest contents. */
  *#settle(wallMs: number): Steps<Snapshot | LiveEnd> {
    const { store, changes, order } = this.#parts
    if (this.#isClosed || changes.isOver || order?.isOver() === true) return 'expired'
    const followers = [changes.follower]
    if (order !== undefined) followers.push(order.kept.follower)
    for (;;) {
      const at = yield* together(store, followers)
      if (isEnd(at)) return at
      const turned = order?.kept.fold.turn(store.latest(), wallMs) ?? 'there'
      if (turned === 'there') return store.latest()
      if (turned !== 'more') return turned
      yield
    }
  }

  #counted(snapshot: Snapshot): Pick<PageRows, 'total' | 'matched'> {
    const { order, question } = this.#parts
    const total = snapshot.count(question.plan.range)
    return { total, matched: order === undefined ? total : order.kept.fold.tree.size }
  }

  #told({ revision }: Snapshot, counts: Pick<PageRows, 'total' | 'matched'>, wallMs: number): void {
    this.#revision = revision
    this.#counts = counts
    this.#toldAtMs = wallMs
    this.#hasUntold = false
  }

  /** Looks the rows up, if they may be others now. */
  #look(snapshot: Snapshot): ChangedRows | NotExact {
    const { changes, order, question } = this.#parts
    const hasCome = this.#comings !== changes.comings
    const root = order?.kept.fold.tree.root
    const mayBeOthers = order === undefined ? hasCome : root !== this.#root
    if (!mayBeOthers && !hasCome && this.#touched.size === 0 && !this.#isAllTouched) return nothing
    this.#comings = changes.comings
    this.#root = root
    if (hasCome || mayBeOthers) this.#hasUntold = true
    let rows = this.#rows
    if (mayBeOthers) {
      const found: RowOrder =
        order === undefined
          ? new KeyOrder(snapshot, question.plan.range)
          : new TreeOrder(order.kept.fold.tree)
      this.#from = firstIndex(question, found)
      rows = found.rows(this.#from, question.pageSize)
    }
    const changed = this.#compare(rows, snapshot)
    this.#touched.clear()
    this.#isAllTouched = false
    return changed
  }

  #compare(rows: readonly PlacedRow[], snapshot: Snapshot): ChangedRows | NotExact {
    const { changes, writer } = this.#parts
    const left: string[] = []
    const changed: ChangedRow[] = []
    const isSame =
      rows.length === this.#rows.length && rows.every(({ key }, i) => key === this.#rows[i]?.key)
    if (!isSame) {
      const present = new Set(rows.map(({ target }) => target))
      for (const [key, { name }] of this.#shown) {
        if (present.has(key)) continue
        left.push(name)
        this.#shown.delete(key)
        changes.unwatch(this, key)
      }
    } else if (this.#touched.size === 0 && !this.#isAllTouched) return nothing
    this.#rows = rows
    for (const [index, { target }] of rows.entries()) {
      const known = this.#shown.get(target)
      if (known !== undefined && !this.#isAllTouched && !this.#touched.has(target)) continue
      const entry = snapshot.get(target)!
      if (known?.entry === entry) continue
      const name = writer.nameOf(entry)
      if (name instanceof NotExact) return name
      if (known === undefined) changes.watch(this, target)
      else if (known.name !== name) left.push(known.name)
      this.#shown.set(target, { entry, name })
      changed.push({ index, entry })
    }
    return { left, rows: changed }
  }
}

type ChangedRows = Pick<PageChange, 'left' | 'rows'>

/** Steps that are over: nothing has changed. */
const unchanged: Steps<undefined> = oneStep()
unchanged.return(undefined)

function* oneStep(): Steps<undefined> {
  yield
  return undefined
}

const nothing: ChangedRows = { left: [], rows: [] }

function isEnd(value: unknown): value is LiveEnd {
  return value instanceof NotExact || value === 'too-many-groups' || value === 'expired'
}
