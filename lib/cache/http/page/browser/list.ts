/** The objects of a kind: chunks of one list, which the server answers at one revision, and the
 *  changes since. */

import { hashOf, type ListedKind, pathOf } from './addresses.ts'
import {
  ApiError,
  askJson,
  type ServedColumn,
  follow,
  messageOfError,
  persist,
  type TableAnswer,
  type TableRow,
  tableType,
  wait,
} from './api.ts'
import { button, content, el, field, tell } from './elements.ts'
import { columnsOf, type DrawnColumn, type ObjectRow, SortedTable } from './table.ts'

const chunk = 250
const rowsMax = 10_000
const drawEveryMs = 250

interface ListedRow extends ObjectRow {
  /** The cells in lower case, for search. */
  readonly words: string
}

export interface ListPlace {
  readonly kind: ListedKind
  readonly namespace: string
  readonly signal: AbortSignal
}

export async function showList(place: ListPlace): Promise<void> {
  await new ObjectList(place).run()
}

class ObjectList {
  readonly #kind: ListedKind
  readonly #namespace: string
  readonly #signal: AbortSignal
  readonly #url: string
  readonly #count = el('p', { class: 'soft' })
  readonly #tablePlace = el('div')
  readonly #search = field('Search', 'search', () => this.#draw())
  readonly #wide = field('All columns', 'checkbox', () => this.#makeTable())
  readonly #load = button('Load more', () => void this.#loadMore(chunk))
  readonly #loadAll = button('Load all', () => void this.#loadMore(rowsMax))
  #rows = new Map<string, ListedRow>()
  /** Keys of rows that an event has told while chunks are still to come: an event is newer. */
  #touched = new Set<string>()
  #definitions: readonly ServedColumn[] = []
  #next = ''
  #remaining = 0
  #revision = ''
  #table: SortedTable<ListedRow> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #restart = new AbortController()

  constructor({ kind, namespace, signal }: ListPlace) {
    this.#kind = kind
    this.#namespace = namespace
    this.#signal = signal
    this.#url = pathOf(kind, namespace)
    const within = field('Namespace', 'text', ({ value }) => {
      location.hash = hashOf(kind.id, value.trim())
    })
    within.input.value = namespace
    const tools = [
      this.#search.node,
      ...(kind.isNamespaced ? [within.node] : []),
      this.#wide.node,
      this.#load,
      this.#loadAll,
    ]
    content.replaceChildren(el('div', { class: 'tools' }, ...tools), this.#count, this.#tablePlace)
  }

  async run(): Promise<void> {
    await persist(this.#signal, tell, async () => {
      for (;;) {
        await this.#readAgain()
        if (!this.#kind.verbs.includes('watch')) {
          tell('This kind cannot be watched: reload for newer objects')
          return
        }
        tell('Live')
        await this.#follow()
      }
    })
  }

  /** Follows the list, and returns when it is to be read again. */
  async #follow(): Promise<void> {
    const { signal: restart } = this.#restart
    try {
      await follow<TableAnswer>({
        url: this.#url,
        accept: tableType,
        revision: this.#revision,
        signal: AbortSignal.any([this.#signal, restart]),
        take: (type, { rows }) => this.#take(type, rows?.[0]),
      })
    } catch (error) {
      if (!restart.aborted || this.#signal.aborted) throw error
      await wait(1000, this.#signal)
    }
  }

  /** Reads as many rows as there were; the old ones stay until the first chunk is there. */
  async #readAgain(): Promise<void> {
    this.#restart = new AbortController()
    const before = this.#rows
    this.#rows = new Map()
    this.#touched = new Set()
    this.#next = ''
    try {
      await this.#readChunk(Math.max(chunk, Math.min(1000, before.size)))
    } catch (error) {
      this.#rows = before
      throw error
    }
    if (this.#table === undefined) this.#makeTable()
    else this.#draw()
    if (before.size > this.#rows.size) await this.#loadMore(before.size - this.#rows.size)
  }

  async #readChunk(limit: number): Promise<void> {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(this.#next === '' ? {} : { continue: this.#next }),
    })
    const answer = await askJson<TableAnswer>(`${this.#url}?${query}`, tableType, this.#signal)
    if (answer.kind !== 'Table') {
      throw new ApiError(406, 'the server does not answer this kind as a table')
    }
    if (this.#definitions.length === 0) this.#definitions = answer.columnDefinitions
    this.#next = answer.metadata.continue ?? ''
    this.#remaining = answer.metadata.remainingItemCount ?? 0
    this.#revision = answer.metadata.resourceVersion
    for (const row of answer.rows ?? []) if (!this.#touched.has(keyOf(row))) this.#put(row)
  }

  async #loadMore(count: number): Promise<void> {
    const wanted = Math.min(rowsMax, this.#rows.size + count)
    this.#load.disabled = this.#loadAll.disabled = true
    try {
      while (this.#next !== '' && this.#rows.size < wanted && !this.#signal.aborted) {
        await this.#readChunk(Math.min(1000, wanted - this.#rows.size))
        this.#draw()
      }
    } catch (error) {
      if (this.#signal.aborted) return
      const isExpired = error instanceof ApiError && error.status === 410
      tell(
        isExpired
          ? 'The rest of this list is too old for the server: it is read again'
          : messageOfError(error),
      )
      if (isExpired) this.#restart.abort()
    } finally {
      this.#load.disabled = this.#loadAll.disabled = false
    }
  }

  #take(type: string, row: TableRow | undefined): void {
    if (row === undefined) return
    if (this.#next === '') this.#touched.clear()
    else this.#touched.add(keyOf(row))
    if (type === 'DELETED') this.#rows.delete(keyOf(row))
    else this.#put(row)
    if (this.#rows.size + this.#touched.size > 2 * rowsMax) {
      throw new ApiError(400, 'No longer live: too much changes. Reload the page')
    }
    this.#timer ??= setTimeout(() => this.#draw(), drawEveryMs)
  }

  #put(row: TableRow): void {
    const { namespace = '', name } = row.object.metadata
    const words = [namespace, name, ...row.cells].join('\n').toLowerCase()
    const key = keyOf(row)
    this.#rows.set(key, { key, hash: hashOf(this.#kind.id, namespace, name), words, row })
  }

  #makeTable(): void {
    const isOfAllNamespaces = this.#kind.isNamespaced && this.#namespace === ''
    const namespace: DrawnColumn<ListedRow> = {
      title: 'Namespace',
      cell: ({ row }) => row.object.metadata.namespace ?? '',
    }
    const own = isOfAllNamespaces ? [namespace] : []
    const columns = columnsOf(this.#definitions, this.#wide.input.checked, own)
    this.#table = new SortedTable(this.#kind.id, columns)
    this.#tablePlace.replaceChildren(this.#table.node)
    this.#draw()
  }

  #draw(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#search.input.value.toLowerCase()
    const rows = [...this.#rows.values()]
    const found = text === '' ? rows : rows.filter(({ words }) => words.includes(text))
    this.#table?.show(found)
    const isMore = this.#next !== ''
    this.#load.hidden = this.#loadAll.hidden = !isMore || rows.length >= rowsMax
    const searched = text === '' ? '' : `${found.length} found in `
    this.#count.textContent = `${searched}${rows.length} loaded${this.#restOf(rows.length)}`
  }

  #restOf(loaded: number): string {
    if (this.#next === '') return loaded === 0 ? ': there are none' : ': all of them'
    const count = this.#remaining > 0 ? this.#remaining : 'some'
    return `, ${count} more at revision ${this.#revision}`
  }
}

function keyOf({ object: { metadata } }: TableRow): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}
