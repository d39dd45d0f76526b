/** A table that can be sorted by a click on a column's head. Rows have a key; a row whose object is
 *  the same is drawn once, and the focused row keeps the focus. */

import type { ServedColumn, TableRow } from './api.ts'
import { compareCells } from './cells.ts'
import { button, el } from './elements.ts'

const rowsShownMax = 500

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
  cell(this: void, row: R): string
}

interface Sorting {
  readonly i: number
  readonly isDown: boolean
}

export class SortedTable<R extends DrawnRow> {
  readonly node: HTMLElement
  readonly #columns: readonly DrawnColumn<R>[]
  readonly #heads: readonly HTMLElement[]
  readonly #body = el('tbody')
  readonly #more = el('p', { class: 'soft' })
  #rows: readonly R[] = []
  #sorting: Sorting | undefined
  #drawn = new Map<string, { row: R; node: HTMLElement }>()

  constructor(caption: string, columns: readonly DrawnColumn<R>[]) {
    this.#columns = columns
    this.#heads = columns.map((column, i) => this.#headOf(column, i))
    const heads = el('thead', {}, el('tr', {}, ...this.#heads))
    const table = el('table', {}, el('caption', { class: 'unseen' }, caption), heads, this.#body)
    const region = { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' }
    this.node = el('div', {}, el('div', region, table), this.#more)
  }

  show(rows: readonly R[]): void {
    this.#rows = rows
    this.#draw()
  }

  #headOf(column: DrawnColumn<R>, i: number): HTMLElement {
    const sort = button(column.title, () => this.#sortBy(i))
    sort.className = 'sort'
    const head = el('th', { scope: 'col', class: column.isFigure ? 'figure' : 'text' }, sort)
    if (column.about) head.title = column.about
    return head
  }

  #sortBy(i: number): void {
    const isDown = this.#sorting?.i === i && !this.#sorting.isDown
    this.#sorting = { i, isDown }
    for (const head of this.#heads) head.removeAttribute('aria-sort')
    this.#heads[i]?.setAttribute('aria-sort', isDown ? 'descending' : 'ascending')
    this.#draw()
  }

  #sorted(): readonly R[] {
    const { i = -1, isDown = false } = this.#sorting ?? {}
    const column = this.#columns[i]
    if (column === undefined) return this.#rows
    const sign = isDown ? -1 : 1
    return this.#rows.toSorted((a, b) => sign * compareCells(column.cell(a), column.cell(b)))
  }

  #draw(): void {
    const fresh = new Map<string, { row: R; node: HTMLElement }>()
    for (const row of this.#sorted().slice(0, rowsShownMax)) {
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
    const left = this.#rows.length - fresh.size
    this.#more.textContent = left > 0 ? `${left} more are not drawn: search for fewer.` : ''
  }

  #rowOf(row: R): HTMLElement {
    const cells = this.#columns.map(({ cell, isHead, isFigure }) => {
      const text = cell(row)
      const attributes = {
        ...(isHead ? { scope: 'row' } : {}),
        class: isFigure ? 'figure' : 'text',
      }
      const shown = isHead && row.hash ? el('a', { href: row.hash }, text) : text
      return el(isHead ? 'th' : 'td', attributes, shown)
    })
    return el('tr', {}, ...cells)
  }
}

export interface ObjectRow extends DrawnRow {
  readonly row: TableRow
}

/** The columns that the server defines, after those of the page's own. */
export function columnsOf<R extends ObjectRow>(
  definitions: readonly ServedColumn[],
  isWide: boolean,
  before: readonly DrawnColumn<R>[] = [],
): DrawnColumn<R>[] {
  const columns = definitions
    .map((definition, i) => ({ ...definition, i }))
    .filter(({ priority }) => isWide || !priority)
  return [
    ...before,
    ...columns.map(({ name, type, description, i }) => ({
      title: name,
      about: description,
      isFigure: type === 'integer' || type === 'number',
      isHead: i === 0 && before.every(({ isHead }) => !isHead),
      cell: ({ row }: R) => String(row.cells[i] ?? ''),
    })),
  ]
}
