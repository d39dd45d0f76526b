/** The rows of a question in their order, as a tree of the same kind as the contents: a change
 *  copies one path, and an order of an earlier answer stays as it was. */

import {
  isStepDue,
  type Key,
  notedEffort,
  NotExact,
  type Revision,
  type Steps,
} from '@watchglass/base'
import {
  BTree,
  BTreeBuilder,
  type Event,
  type KeyValue,
  type Snapshot,
  TreeEdit,
} from '@watchglass/store'
import type { ObjectReaders } from '../cells/cell-reader.ts'
import type { RowSelection } from '../question/parse-view.ts'
import { PlacedRow } from './placed-row.ts'
import { RowChoice } from './row-choice.ts'
import { sortedRows } from './row-pass.ts'
import { RowTurns } from './row-turns.ts'
import type { RowFold } from './store-follower.ts'

/** The bytes that a row takes beside the characters of its place: objects, and a share of the
 *  tree. Measured as those of indexes (lib/store/indexes.ts). */
export const rowBytes = 120

/** Orders of earlier answers that are kept for their next pages. They share all but what has
 *  changed. */
const heldMax = 64

/** Rows whose ages have turned that are looked at in one step, if none is much work. */
const turnsAtOnce = 64
const turnEffort = 1_000

export class OrderFold implements RowFold {
  readonly #selection: RowSelection
  readonly #readers: ObjectReaders
  readonly #choice: RowChoice
  #tree: BTree<PlacedRow> = BTree.empty()
  #edit: TreeEdit<PlacedRow> | undefined
  #bytes = 0
  /** The moment of the wall clock that ages are of. */
  #moment: number
  /** Undefined where time changes nothing. */
  readonly #turns: RowTurns | undefined
  /** The orders that answers were made of, by revision. */
  readonly #held = new Map<Revision, BTree<PlacedRow>>()

  /** `wallMs` is the wall clock, which matters where ages choose. */
  constructor(selection: RowSelection, readers: ObjectReaders, wallMs: number) {
    this.#moment = wallMs
    this.#selection = selection
    this.#readers = readers
    this.#choice = new RowChoice(selection, readers)
    if (selection.isTimed) this.#turns = new RowTurns()
  }

  /** The memory that the order takes. */
  get bytes(): number {
    return this.#bytes + (this.#turns?.bytes ?? 0)
  }

  /** The moment of the wall clock at which a row may be chosen or left out although nothing
   *  changes; Infinity if there is none. */
  get nextTurnMs(): number {
    return this.#turns?.nextMs ?? Infinity
  }

  get tree(): BTree<PlacedRow> {
    return this.#tree
  }

  /** Keeps the order of a revision, which is the present one, for the next pages of an answer. */
  hold(revision: Revision): void {
    this.#held.delete(revision)
    this.#held.set(revision, this.#tree)
    if (this.#held.size <= heldMax) return
    for (const [oldest] of this.#held) {
      this.#held.delete(oldest)
      return
    }
  }

  /** The order that was held at a revision. */
  heldAt(revision: Revision): BTree<PlacedRow> | undefined {
    return this.#held.get(revision)
  }

  *build(snapshot: Snapshot): Steps<NotExact | undefined> {
    const turns = this.#turns
    this.#edit = undefined
    this.#held.clear()
    turns?.clear()
    const rows = yield* sortedRows({
      selection: this.#selection,
      choice: this.#choice,
      readers: this.#readers,
      snapshot,
      wallMs: this.#moment,
      onRead: turns && (key => turns.note(key, this.#choice.nextTurn(this.#moment))),
    })
    if (rows instanceof NotExact) return rows
    const builder = new BTreeBuilder<PlacedRow>()
    let bytes = 0
    for (const row of rows) {
      if (isStepDue()) yield
      builder.add(row)
      turns?.places.set(row.target, row.key)
      bytes += rowBytes + row.key.length
    }
    this.#tree = builder.finish()
    this.#bytes = bytes
    return undefined
  }

  change({ key, before, after }: Event): NotExact | undefined {
    // Where ages turn, the place of a row is that of an earlier moment.
    const isKnown = before !== undefined && after !== undefined && this.#turns === undefined
    if (isKnown && this.#choice.isUnmoved(before, after, this.#moment)) return undefined
    const old = this.#oldPlace(key, before)
    return old instanceof NotExact ? old : this.#put(key, old, after)
  }

  /** Has rows chosen or left out whose ages have turned until `wallMs`, some at a time. `contents`
   *  are those that the order is of. */
  turn(contents: BTree<KeyValue>, wallMs: number): 'there' | 'more' | NotExact {
    const turns = this.#turns
    if (turns === undefined || wallMs <= this.#moment) return 'there'
    const begunAt = notedEffort()
    for (let i = 0; i < turnsAtOnce && notedEffort() - begunAt < turnEffort; i++) {
      const key = turns.take(wallMs)
      if (key === undefined) {
        this.#moment = wallMs
        this.endBatch()
        return 'there'
      }
      const entry = contents.get(key)
      if (entry === undefined) continue
      const problem = this.#put(key, turns.places.get(key), entry, wallMs)
      if (problem !== undefined) return problem
    }
    this.endBatch()
    return 'more'
  }

  #oldPlace(key: Key, before: KeyValue | undefined): Key | undefined | NotExact {
    if (this.#turns !== undefined) return this.#turns.places.get(key)
    return before === undefined ? undefined : this.#choice.placeOf(before, this.#moment)
  }

  #put(
    key: Key,
    old: Key | undefined,
    entry: KeyValue | undefined,
    wallMs = this.#moment,
  ): NotExact | undefined {
    const place = entry === undefined ? undefined : this.#choice.placeOf(entry, wallMs)
    if (place instanceof NotExact) return place
    this.#turns?.note(key, entry === undefined ? Infinity : this.#choice.nextTurn(wallMs))
    if (old === place) return undefined
    const edit = (this.#edit ??= new TreeEdit(this.#tree))
    if (old !== undefined && edit.delete(old) !== undefined) this.#bytes -= rowBytes + old.length
    if (place !== undefined && edit.put(new PlacedRow(place, key)) === undefined) {
      this.#bytes += rowBytes + place.length
    }
    if (place === undefined) this.#turns?.places.delete(key)
    else this.#turns?.places.set(key, place)
    return undefined
  }

  endBatch(): void {
    if (this.#edit === undefined) return
    this.#tree = this.#edit.tree()
    this.#edit = undefined
  }
}
