/** The objects of a kind: a page of them that the server sorts, searches and keeps live, and how
 *  many there are of each status. What is asked for is in the address. */

import { ageOf } from './ages.ts'
import { hashOf, listHash, type ListPlace, viewPathOf } from './addresses.ts'
import { ApiError, askJson, messageOfError, persist, wait } from './api.ts'
import { button, content, el, field, tell } from './elements.ts'
import { suggestNamespaces } from './namespaces.ts'
import { type DrawnColumn, type DrawnRow, DrawnTable } from './table.ts'
import { showUnsorted } from './unsorted-list.ts'
import {
  countBy,
  followView,
  isEqualTo,
  keyOf,
  type PageColumn,
  type ViewGroup,
  type ViewPage,
  type ViewRow,
} from './views.ts'

const pageSize = 100
/** Nobody's typing is waited for longer. */
const typedAfterMs = 250
const countEveryMs = 2000
const ageEveryMs = 1000
const groupsShownMax = 12

export interface AskedList extends ListPlace {
  /** The part of the address behind its place. */
  readonly question: string
}

interface ListedRow extends DrawnRow {
  readonly row: ViewRow
}

export class ObjectList {
  readonly #place: AskedList
  readonly #url: string
  #question: URLSearchParams
  /** Ends what is asked now. */
  #asked = new AbortController()
  #page: ViewPage | undefined
  #table: DrawnTable<ListedRow> | undefined
  /** The columns that the table was made for. */
  #drawnColumns = ''
  /** Drawn rows by what they show: an object of the page that has not changed is not drawn
   *  again. */
  #rows = new Map<ViewRow, ListedRow>()
  #typed: ReturnType<typeof setTimeout> | undefined
  #isCounting = false
  #isCountDue = false
  readonly #search = field('Search', 'search', () => this.#type('search', this.#search.input))
  readonly #where = field('Where', 'text', ({ value }) => this.#ask({ where: value, page: '' }))
  readonly #labels = field('Labels', 'text', ({ value }) => this.#ask({ labels: value, page: '' }))
  readonly #wide = field('All columns', 'checkbox', ({ checked }) =>
    this.#ask({ columns: checked ? 'wide' : '' }),
  )
  readonly #by = el('select', { 'aria-label': 'Count by' })
  readonly #groups = el('ul', { class: 'groups', 'aria-label': 'Counts' })
  readonly #count = el('p', { class: 'soft' })
  readonly #tablePlace = el('div')
  readonly #before = button('Previous', () => this.#turn(-1))
  readonly #next = button('Next', () => this.#turn(1))
  readonly #pageText = el('span', { class: 'soft' })

  constructor(place: AskedList) {
    const { kind, namespace, question, signal } = place
    this.#place = place
    this.#url = viewPathOf(kind, namespace)
    this.#question = new URLSearchParams(question)
    const within = field('Namespace', 'text', ({ value }) => {
      location.hash = listHash(kind.id, value.trim(), this.#withoutPage())
    })
    within.input.value = namespace
    if (kind.isNamespaced) void suggestNamespaces(within, signal)
    this.#where.input.placeholder = 'restarts>5 and age<1h'
    this.#labels.input.placeholder = 'app=web'
    this.#by.onchange = () => this.#ask({ by: this.#by.value })
    const tools = [
      this.#search.node,
      ...(kind.isNamespaced ? [within.node] : []),
      this.#labels.node,
      this.#where.node,
      this.#wide.node,
    ]
    const pages = el('nav', { class: 'tools', 'aria-label': 'Pages' })
    pages.append(this.#before, this.#pageText, this.#next)
    content.replaceChildren(
      el('div', { class: 'tools' }, ...tools),
      el('div', { class: 'tools' }, el('label', {}, 'Count by ', this.#by), this.#groups),
      this.#count,
      this.#tablePlace,
      pages,
    )
    this.#fill()
  }

  /** Shows the answers to one question after the other, each live. */
  async run(): Promise<void> {
    const { signal } = this.#place
    const ages = setInterval(() => this.#table?.age(), ageEveryMs)
    signal.addEventListener('abort', () => clearInterval(ages), { once: true })
    // A browser has six connections over HTTP/1.1, which tabs that nobody looks at must not hold.
    const pause = (): void => void (document.hidden && this.#asked.abort())
    document.addEventListener('visibilitychange', pause, { signal })
    while (!signal.aborted) {
      await untilSeen(signal)
      const { signal: asked } = (this.#asked = new AbortController())
      const either = AbortSignal.any([signal, asked])
      await persist(either, tell, () => this.#follow(either))
      if (!either.aborted) {
        await new Promise(done => either.addEventListener('abort', done, { once: true }))
      }
    }
  }

  /** The address has changed, by Back or by hand. */
  apply(question: string): void {
    this.#question = new URLSearchParams(question)
    this.#fill()
    this.#asked.abort()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { kind } = this.#place
    const url = `${this.#url}?${this.#asParameters()}`
    try {
      if (!kind.verbs.includes('watch')) {
        this.#take(await askJson<ViewPage>(url, 'application/json', signal))
        tell('This kind cannot be watched: reload for newer objects')
        return
      }
      for (;;) {
        await followView(`${url}&watch=1`, signal, page => this.#take(page))
        await wait(1000, signal)
      }
    } catch (error) {
      const isNoView = error instanceof ApiError && error.status === 405
      if (!isNoView) throw error
      await showUnsorted(this.#place, this.#tablePlace)
    }
  }

  /** The parameters of the view. */
  #asParameters(): URLSearchParams {
    const parameters = new URLSearchParams({ pageSize: String(pageSize) })
    const named = { search: 'search', where: 'where', labels: 'labelSelector', sort: 'sort' }
    for (const [own, name] of Object.entries({ ...named, columns: 'columns', page: 'page' })) {
      const value = this.#question.get(own)
      if (value) parameters.set(name, value)
    }
    return parameters
  }

  /** Asks something else. Back leads to what was asked before. */
  #ask(change: Readonly<Record<string, string>>, isTyping = false): void {
    for (const [name, value] of Object.entries(change)) {
      if (value === '') this.#question.delete(name)
      else this.#question.set(name, value)
    }
    const { kind, namespace } = this.#place
    const address = listHash(kind.id, namespace, this.#question)
    if (isTyping) history.replaceState(null, '', address)
    else history.pushState(null, '', address)
    this.#fill()
    this.#asked.abort()
  }

  #type(name: string, input: HTMLInputElement): void {
    clearTimeout(this.#typed)
    this.#typed = setTimeout(() => this.#ask({ [name]: input.value, page: '' }, true), typedAfterMs)
  }

  #turn(by: number): void {
    const page = this.#pageNumber() + by
    this.#ask({ page: page <= 1 ? '' : String(page) })
  }

  #pageNumber(): number {
    return Math.max(1, Number(this.#question.get('page')) || 1)
  }

  #withoutPage(): URLSearchParams {
    const question = new URLSearchParams(this.#question)
    question.delete('page')
    return question
  }

  /** Shows in the fields what is asked. */
  #fill(): void {
    const shown = { search: this.#search, where: this.#where, labels: this.#labels }
    for (const [name, { input }] of Object.entries(shown)) {
      const value = this.#question.get(name) ?? ''
      if (input.value !== value) input.value = value
    }
    this.#wide.input.checked = this.#question.get('columns') === 'wide'
  }

  #take(page: ViewPage): void {
    this.#page = page
    tell('Live')
    this.#draw(page)
    void this.#countLater()
  }

  #draw(page: ViewPage): void {
    const { columns, rows, total, matched, revision } = page
    const drawnColumns = JSON.stringify(columns)
    if (this.#table === undefined || drawnColumns !== this.#drawnColumns) {
      this.#drawnColumns = drawnColumns
      this.#rows = new Map()
      this.#table = new DrawnTable(this.#place.kind.id, this.#columnsOf(columns), i => {
        const column = columns[i]
        if (column !== undefined) this.#sortBy(column.id)
      })
      this.#tablePlace.replaceChildren(this.#table.node)
      this.#offerColumns(columns)
    }
    const sort = this.#question.get('sort') ?? ''
    const sorted = columns.findIndex(({ id }) => id === sort.replace(/^-/, ''))
    this.#table.mark(sorted, sort.startsWith('-') ? 'descending' : 'ascending')
    const drawn = new Map(rows.map(row => [row, this.#rows.get(row) ?? this.#rowOf(row)]))
    this.#rows = drawn
    this.#table.show([...drawn.values()])
    const pages = Math.max(1, Math.ceil(matched / pageSize))
    const number = this.#pageNumber()
    this.#before.disabled = number <= 1
    this.#next.disabled = number >= pages
    this.#pageText.textContent = `Page ${number} of ${figure(pages)}`
    const found = matched === total ? figure(total) : `${figure(matched)} of ${figure(total)}`
    this.#count.textContent = `${found} at revision ${revision}`
  }

  #rowOf(row: ViewRow): ListedRow {
    const { namespace = '', name } = row
    return { key: keyOf(row), hash: hashOf(this.#place.kind.id, namespace, name), row }
  }

  #columnsOf(columns: readonly PageColumn[]): DrawnColumn<ListedRow>[] {
    const head = Math.max(
      0,
      columns.findIndex(({ id }) => id === 'name'),
    )
    return columns.map(({ id, title, kind }, i) => ({
      title,
      isHead: i === head,
      isFigure: kind === 'number' || kind === 'quantity',
      isAge: kind === 'time',
      cell: ({ row }) => {
        const value = row.cells[i]
        return (kind === 'time' ? ageOf(value, Date.now()) : undefined) ?? String(value ?? '')
      },
      link: ({ row }) => this.#linkOf(id, row.cells[i]),
    }))
  }

  #linkOf(column: string, value: unknown): string | undefined {
    if (typeof value !== 'string' || value === '' || value === '<none>') return undefined
    if (column === 'namespace') return hashOf(this.#place.kind.id, value)
    return column === 'node' ? hashOf('nodes', '', value) : undefined
  }

  /** Up, then down, then as the server lists them. */
  #sortBy(column: string): void {
    const now = this.#question.get('sort') ?? ''
    const next = now === column ? `-${column}` : now === `-${column}` ? '' : column
    this.#ask({ sort: next, page: '' })
  }

  /** The columns that objects may be counted by. */
  #offerColumns(columns: readonly PageColumn[]): void {
    const texts = columns.filter(({ id, kind }) => kind === 'text' && id !== 'name')
    const ids = new Set(texts.map(({ id }) => id))
    if (this.#place.kind.id === 'pods') ids.add('node')
    const options = [el('option', { value: 'none' }, 'nothing')]
    for (const id of ids) options.push(el('option', { value: id }, id))
    this.#by.replaceChildren(...options)
    this.#by.value = this.#countedBy()
  }

  /** Counted by status where nothing else is asked for. */
  #countedBy(): string {
    const asked = this.#question.get('by')
    if (asked !== null) return asked
    return ['status', 'phase'].find(id => this.#page?.columns.some(one => one.id === id)) ?? 'none'
  }

  /** Counts again, but not more often than people can read. */
  async #countLater(): Promise<void> {
    this.#isCountDue = true
    if (this.#isCounting) return
    this.#isCounting = true
    const { signal } = this.#place
    try {
      while (this.#isCountDue) {
        this.#isCountDue = false
        await this.#countNow(signal)
        await wait(countEveryMs, signal)
      }
    } catch (error) {
      if (!signal.aborted) this.#groups.replaceChildren(el('li', {}, messageOfError(error)))
    } finally {
      this.#isCounting = false
    }
  }

  async #countNow(signal: AbortSignal): Promise<void> {
    const by = this.#countedBy()
    this.#by.value = by
    if (by === 'none') {
      this.#groups.replaceChildren()
      return
    }
    const parameters = this.#asParameters()
    const kept = new URLSearchParams()
    for (const name of ['search', 'labelSelector']) {
      const value = parameters.get(name)
      if (value !== null) kept.set(name, value)
    }
    const groups = await countBy(`${this.#url}?${kept}`, by, signal)
    this.#drawGroups(by, groups)
  }

  /** A click on a count shows these objects, another click all. */
  #drawGroups(by: string, groups: readonly ViewGroup[]): void {
    const active = document.activeElement
    const focused = [...this.#groups.children].findIndex(one => one.contains(active))
    const items = groups.slice(0, groupsShownMax).map(({ values: [value = ''], count }) => {
      const where = isEqualTo(by, value)
      const isOn = this.#question.get('where') === where
      const choose = button(`${value || 'none'} ${figure(count)}`, () =>
        this.#ask({ where: isOn ? '' : where, page: '' }),
      )
      choose.setAttribute('aria-pressed', String(isOn))
      return el('li', {}, choose)
    })
    const left = groups.length - items.length
    if (left > 0) items.push(el('li', { class: 'soft' }, `${figure(left)} more`))
    this.#groups.replaceChildren(...items)
    this.#groups.children[focused]?.querySelector('button')?.focus({ preventScroll: true })
  }
}

/** Resolves when the tab is looked at, or the signal has come. */
function untilSeen(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve()
  return new Promise(done => {
    document.addEventListener('visibilitychange', () => done(), { once: true, signal })
    signal.addEventListener('abort', () => done(), { once: true })
  })
}

function figure(value: number): string {
  return value.toLocaleString('en-US')
}
