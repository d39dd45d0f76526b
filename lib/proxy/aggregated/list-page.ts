/** Splits a page of a server's list into items without changing their bytes, which are compared. */

import { CacheError, numberOf, objectOf, textOf } from '@watchglass/base'
import { JsonMembers, type StoredValue } from '@watchglass/codec'

export interface ListPage {
  readonly kind: string
  readonly resourceVersion: string
  /** Number of objects in the whole list. */
  readonly count: number
  /** The list begins with its kind, as Go writes a typed list; servers without types sort the
   *  members by name. */
  readonly isTyped: boolean
  /** `items` or `rows`, each with the bytes of the page. */
  readonly items: readonly StoredValue[]
  /** Form of the list if it has no items. */
  readonly emptyList: '[]' | 'null' | undefined
  /** The JSON of column definitions, of a Table. */
  readonly columnsJson: string | undefined
}

/** Fails with `upstream_failed` if the body is not a list. */
export function listPage(path: string, bytes: Uint8Array): ListPage {
  const members = new JsonMembers()
  members.reset(bytes, 0, bytes.length)
  const windows = new Map<string, StoredValue>()
  let first: string | undefined
  while (members.next()) {
    const name = Buffer.from(bytes.subarray(members.nameStart, members.nameEnd)).toString()
    first ??= name
    windows.set(name, { bytes, start: members.start, end: members.end })
  }
  const list = windows.get('items') ?? windows.get('rows')
  const metadata = objectOf(parsed(windows.get('metadata')))
  const resourceVersion = textOf(metadata['resourceVersion'])
  if (members.isMalformed || list === undefined || resourceVersion === '') {
    throw new CacheError('upstream_failed', `${path} is not answered with a list`)
  }
  const items = itemsOf(list)
  const columns = windows.get('columnDefinitions')
  return {
    kind: String(parsed(windows.get('kind'))),
    resourceVersion,
    count: items.length + numberOf(metadata['remainingItemCount']),
    isTyped: first === 'kind',
    items,
    emptyList: items.length > 0 ? undefined : textIn(list) === 'null' ? 'null' : '[]',
    columnsJson: columns === undefined ? undefined : textIn(columns),
  }
}

export function textIn({ bytes, start, end }: StoredValue): string {
  return Buffer.from(bytes.subarray(start, end)).toString()
}

/** The value; undefined if it is not JSON. */
export function parsed(window: StoredValue | undefined): unknown {
  if (window === undefined) return undefined
  try {
    return JSON.parse(textIn(window))
  } catch {
    return undefined
  }
}

function itemsOf(list: StoredValue): StoredValue[] {
  const items: StoredValue[] = []
  const members = new JsonMembers()
  members.reset(list.bytes, list.start, list.end)
  while (members.next()) items.push({ bytes: list.bytes, start: members.start, end: members.end })
  return items
}
