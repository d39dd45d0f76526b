/** Chooses rows: whether an entry is among those that a question asks for, and its place in their
 *  order. */

import { type Key, inRange, NotExact } from '@watchglass/base'
import type { Cell } from '@watchglass/codec'
import {
  compileFilter,
  type Filter,
  nameOfKey,
  namespaceOfKey,
  prefixOfNamespaces,
} from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import { CellReader, type ObjectReaders } from '../cells/cell-reader.ts'
import { meetsCondition, nextTurn, textOf } from '../cells/condition-check.ts'
import { columnPlace, placeOf } from '../cells/place.ts'
import { columnsOf } from '../question/condition.ts'
import type { RowSelection } from '../question/parse-view.ts'
import type { ViewColumn } from '../question/view-column.ts'

/** The way in which an entry is read. */
export interface ChoiceOptions {
  /** True where the selectors have been checked already. */
  readonly isSelected?: boolean
  /** True for one of very many entries that are read once. */
  readonly isOneOfMany?: boolean
}

export class RowChoice {
  readonly #selection: RowSelection
  readonly #filter: Filter | undefined
  readonly #reader: CellReader | undefined
  readonly #namespacePrefix: ReturnType<typeof prefixOfNamespaces>
  /** The index of each column among the cells. */
  readonly #indexes: ReadonlyMap<string, number>
  #cells: readonly Cell[] = []

  /** `others` are columns that are read beside those that choose. */
  constructor(selection: RowSelection, readers: ObjectReaders, others: readonly ViewColumn[] = []) {
    const { where, searched, sort, plan } = selection
    this.#selection = selection
    this.#namespacePrefix = prefixOfNamespaces(plan)
    this.#filter = compileFilter(plan, readers.makeReader)
    const read = [...columnsOf(where), ...searched, ...sort.map(({ column }) => column), ...others]
    const columns = [...new Map(read.map(column => [column.id, column])).values()]
    this.#indexes = new Map(columns.map(({ id }, index) => [id, index]))
    if (columns.length > 0) this.#reader = new CellReader(columns, plan, readers)
  }

  /** True if every object of the range is chosen. */
  get isAll(): boolean {
    const { where, search } = this.#selection
    return this.#filter === undefined && where === undefined && search === ''
  }

  /** The place of an entry's row; undefined if it is not among them. Until the next call, `cell`
   *  and `nextTurn` are of the same entry. */
  placeOf(
    entry: KeyValue,
    wallMs: number,
    { isSelected = false, isOneOfMany = false }: ChoiceOptions = {},
  ): Key | undefined | NotExact {
    const { plan, where, search, sort } = this.#selection
    this.#cells = []
    if (!isSelected) {
      if (!inRange(entry.key, plan.range)) return undefined
      const isChosen = this.#filter?.(entry) ?? true
      if (isChosen instanceof NotExact) return isChosen
      if (!isChosen) return undefined
    }
    const cells = this.#reader?.read(entry, wallMs, isOneOfMany) ?? []
    if (cells instanceof NotExact) return cells
    this.#cells = cells
    if (where !== undefined && !meetsCondition(where, this.cell, wallMs)) return undefined
    if (search !== '' && !this.#isFound(entry.key)) return undefined
    let columns = ''
    for (const { column, isDown } of sort) {
      columns += columnPlace(column.kind, this.cell(column), isDown)
    }
    return placeOf(columns, entry.key)
  }

  /** True if a change of an object leaves its row where it is: no cell that matters is another one.
   *  Most changes are such to most orders, and to make two places takes far longer. */
  isUnmoved(before: KeyValue, after: KeyValue, wallMs: number): boolean {
    if (this.#filter !== undefined) return false
    if (this.#reader === undefined) return true
    const old = this.#reader.read(before, wallMs)
    const now = this.#reader.read(after, wallMs)
    if (old instanceof NotExact || now instanceof NotExact) return false
    return old.every((cell, i) => cell === now[i])
  }

  /** The cell of one of the columns that are read. */
  readonly cell = (column: ViewColumn): Cell =>
    this.#cells[this.#indexes.get(column.id) ?? -1] ?? null

  /** The moment from which the row may be chosen or left out, although nothing of it changes. */
  nextTurn(wallMs: number): number {
    const { where } = this.#selection
    if (where === undefined || this.#cells.length === 0) return Infinity
    return nextTurn(where, this.cell, wallMs)
  }

  #isFound(key: Key): boolean {
    const { search, searched } = this.#selection
    const isIn = (text: string): boolean => text.toLowerCase().includes(search)
    if (isIn(nameOfKey(key)) || isIn(namespaceOfKey(key, this.#namespacePrefix))) return true
    return searched.some(column => isIn(textOf(column.kind, this.cell(column))))
  }
}
