/** Tables whose rows have a key: a row whose object is the same is drawn once, and the focused row
 *  keeps the focus. A click on a column's head asks for another order. */

import type { ServedColumn, TableRow } from './api.ts'
import { compareCells } from './cells.ts'
import { button, el } from './elements.ts'

const rowsShownMax = 1000

/** A row that a table draws; `hash` is the address that its head links to. */
export interface DrawnRow {
  readonly key: string
  readonly hash?: string
}

export interface DrawnColumn<R extends DrawnRow> {
  readonly title: string
  readonly about?: string
  readonly isFigure?: boolean
  readonly isHead?: boolean
  /** The text changes with time. */
  readonly isAge?: boolean
  cell(this: void, row: R): string
  /** The address that the cell links to. */
  link?(this: void, row: R): string | undefined
}

export type SortDirection = 'ascending' | 'descending'

/** Draws rows in the order in which they are given. */
export class DrawnTable<R extends DrawnRow> {
  readonly node: HTMLElement
  readonly #columns: readonly DrawnColumn<R>[]
  readonly #heads: readonly HTMLElement[]
  readonly #body = el('tbody')
  readonly #more = el('p', { class: 'soft' })
  #drawn = new Map<string, { row: R; node: HTMLElement }>()

  constructor(
    caption: string,
    columns: readonly DrawnColumn<R>[],
    onSort: (column: number) => void,
  ) {
    this.#columns = columns
    this.#heads = columns.map(({ title, about, isFigure }, i) => {
      const sort = button(title, () => onSort(i))
      sort.className = 'sort'
      const head = el('th', { scope: 'col', class: isFigure ? 'figure' : 'text' }, sort)
      if (about) head.title = about
      return head
    })
    const heads = el('thead', {}, el('tr', {}, ...this.#heads))
    const table = el('table', {}, el('caption', { class: 'unseen' }, caption), heads, this.#body)
    const region = { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' }
    this.node = el('div', {}, el('div', region, table), this.#more)
  }

  /** Marks the column by which the rows are sorted. */
  mark(column: number, direction: SortDirection | undefined): void {
    for (const [i, head] of this.#heads.entries()) {
      if (i === column && direction !== undefined) head.setAttribute('aria-sort', direction)
      else head.removeAttribute('aria-sort')
    }
  }

  show(rows: readonly R[]): void {
    const fresh = new Map<string, { row: R; node: HTMLElement }>()
    for (const row of rows.slice(0, rowsShownMax)) {
      const before = this.#drawn.get(row.key)
      fresh.set(row.key, before?.row === row ? before : { row, node: this.#rowOf(row) })
    }
    const active = [...this.#drawn].find(([, { node }]) => node.contains(document.activeElement))
    for (const [key, { node }] of this.#drawn) if (fresh.get(key)?.node !== node) node.remove()
    let i = 0
    for (const { node } of fresh.values()) {
      const place = this.#body.children[i] ?? null
      if (place !== node) this.#body.insertBefore(node, place)
      i++
    }
    if (active !== undefined) {
      fresh.get(active[0])?.node.querySelector('a')?.focus({ preventScroll: true })
    }
    this.#drawn = fresh
    const left = rows.length - fresh.size
    this.#more.textContent = left > 0 ? `${left} more are not drawn: search for fewer.` : ''
  }

  /** Writes the texts anew that change with time. */
  age(): void {
    for (const [i, { isAge, cell }] of this.#columns.entries()) {
      if (!isAge) continue
      for (const { row, node } of this.#drawn.values()) {
        const text = cell(row)
        const place = node.children[i]
        if (place !== undefined && place.textContent !== text) place.textContent = text
      }
    }
  }

  #rowOf(row: R): HTMLElement {
    const cells = this.#columns.map(({ cell, link, isHead, isFigure }) => {
      const text = cell(row)
      const attributes = {
        ...(isHead ? { scope: 'row' } : {}),
        class: isFigure ? 'figure' : 'text',
      }
      const href = isHead ? row.hash : link?.(row)
      return el(isHead ? 'th' : 'td', attributes, href ? el('a', { href }, text) : text)
    })
    return el('tr', {}, ...cells)
  }
}

/** A table whose rows are all here, and are sorted here. */
export class SortedTable<R extends DrawnRow> {
  readonly node: HTMLElement
  readonly #columns: readonly DrawnColumn<R>[]
  readonly #table: DrawnTable<R>
  #rows: readonly R[] = []
  #sortedBy = -1
  #isDown = false

  constructor(caption: string, columns: readonly DrawnColumn<R>[]) {
    this.#columns = columns
    this.#table = new DrawnTable(caption, columns, i => this.#sortBy(i))
    this.node = this.#table.node
  }

  show(rows: readonly R[]): void {
    this.#rows = rows
    const column = this.#columns[this.#sortedBy]
    const sign = this.#isDown ? -1 : 1
    this.#table.show(
      column === undefined
        ? rows
        : rows.toSorted((a, b) => sign * compareCells(column.cell(a), column.cell(b))),
    )
  }

  #sortBy(i: number): void {
    this.#isDown = this.#sortedBy === i && !this.#isDown
    this.#sortedBy = i
    this.#table.mark(i, this.#isDown ? 'descending' : 'ascending')
    this.show(this.#rows)
  }
}

export interface ObjectRow extends DrawnRow {
  readonly row: TableRow
}

/** The columns that the server defines. */
export function columnsOf<R extends ObjectRow>(
  definitions: readonly ServedColumn[],
  isWide: boolean,
): DrawnColumn<R>[] {
  const columns = definitions
    .map((definition, i) => ({ ...definition, i }))
    .filter(({ priority }) => isWide || !priority)
  return columns.map(({ name, type, description, i }) => ({
    title: name,
    about: description,
    isFigure: type === 'integer' || type === 'number',
    isHead: i === 0,
    cell: ({ row }: R) => String(row.cells[i] ?? ''),
  }))
}
