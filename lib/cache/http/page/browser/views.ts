/** Views of lists, as the server makes them: a page of sorted rows, live, and counts. */

import { ApiError, ask, askJson, linesOf } from './api.ts'
import type { ShownCell } from './cells.ts'

export interface PageColumn {
  readonly id: string
  readonly title: string
  readonly kind: 'text' | 'number' | 'quantity' | 'time' | 'duration'
}

export interface ViewRow {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly cells: readonly ShownCell[]
}

/** A page as it is now. */
export interface ViewPage {
  readonly revision: string
  readonly total: number
  readonly matched: number
  readonly columns: readonly PageColumn[]
  readonly rows: readonly ViewRow[]
}

export interface ViewGroup {
  readonly values: readonly string[]
  readonly count: number
}

/** A document of a live page. */
interface LiveDocument extends Partial<ViewPage> {
  readonly type: 'PAGE' | 'CHANGE' | 'BOOKMARK' | 'ERROR'
  readonly object?: { readonly code?: number; readonly message?: string }
}

/** The change of a page. */
interface PageChange {
  readonly revision?: string
  readonly total?: number
  readonly matched?: number
  readonly left?: readonly string[]
  readonly rows?: readonly { readonly index: number; readonly row: ViewRow }[]
  readonly order?: readonly string[]
}

/** Hands on the page whenever it is another one, until the signal or a failure. */
export async function followView(
  url: string,
  signal: AbortSignal,
  take: (page: ViewPage) => void,
): Promise<void> {
  const { body } = await ask(url, 'application/json', signal)
  if (body === null) return
  let page: ViewPage | undefined
  for await (const line of linesOf(body)) {
    const document = JSON.parse(line) as LiveDocument
    const { type, object } = document
    if (type === 'ERROR') throw new ApiError(object?.code ?? 0, String(object?.message))
    if (type === 'BOOKMARK') continue
    page =
      type === 'PAGE' || page === undefined
        ? (document as ViewPage)
        : changed(page, document as unknown as PageChange)
    take(page)
  }
}

export async function countBy(
  url: string,
  columns: string,
  signal: AbortSignal,
): Promise<readonly ViewGroup[]> {
  const query = new URLSearchParams({ countBy: columns })
  const asked = `${url}${url.includes('?') ? '&' : '?'}${query}`
  return (
    await askJson<{ readonly groups: readonly ViewGroup[] }>(asked, 'application/json', signal)
  ).groups
}

function changed(page: ViewPage, change: PageChange): ViewPage {
  const { revision = page.revision, total = page.total, matched = page.matched } = change
  const { left = [], rows: fresh = [], order } = change
  const gone = new Set([...left, ...fresh.map(({ row }) => keyOf(row))])
  const rows = page.rows.filter(row => !gone.has(keyOf(row)))
  for (const { index, row } of fresh) rows.splice(index, 0, row)
  const byKey = new Map(rows.map(row => [keyOf(row), row]))
  const ordered = order?.flatMap(key => byKey.get(key) ?? []) ?? rows
  return { ...page, revision, total, matched, rows: ordered }
}

/** The uid, which objects of old clusters may lack. */
export function keyOf({ uid, namespace = '', name }: ViewRow): string {
  return uid || `${namespace}/${name}`
}

/** A comparison as `where` has it. */
export function isEqualTo(column: string, value: string): string {
  return `${column}="${value.replace(/["\\]/g, '\\$&')}"`
}
