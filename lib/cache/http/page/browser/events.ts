/** The Events about one object, as a table. */

import { type ObjectPlace, selectorValue } from './addresses.ts'
import { askJson, follow, messageOfError, type TableAnswer, tableType } from './api.ts'
import { el } from './elements.ts'
import { columnsOf, type ObjectRow, SortedTable } from './table.ts'

const eventsMax = 250
const readEveryMs = 500

export async function showEvents(
  { kind, namespace, name, signal }: ObjectPlace,
  place: HTMLElement,
): Promise<void> {
  const selector = `involvedObject.kind=${selectorValue(kind.kind)},involvedObject.name=${selectorValue(name)}`
  const within = kind.isNamespaced ? `namespaces/${encodeURIComponent(namespace)}/` : ''
  const url = `/api/v1/${within}events?${new URLSearchParams({ fieldSelector: selector })}`
  let table: SortedTable<ObjectRow> | undefined
  const read = async (): Promise<string> => {
    const answer = await askJson<TableAnswer>(`${url}&limit=${eventsMax}`, tableType, signal)
    table ??= new SortedTable('Events', columnsOf(answer.columnDefinitions, false))
    const rows = (answer.rows ?? []).map(row => ({ key: keyOf(row.object.metadata), row }))
    if (rows.length === 0) place.replaceChildren(el('p', { class: 'soft' }, 'There are none.'))
    else if (table.node.parentNode !== place) place.replaceChildren(table.node)
    table.show(rows)
    return answer.metadata.resourceVersion
  }
  const fail = (error: unknown): void => {
    if (signal.aborted) return
    place.append(el('p', { class: 'soft' }, `Events are not live: ${messageOfError(error)}`))
  }
  try {
    const revision = await read()
    let timer: ReturnType<typeof setTimeout> | undefined
    const readLater = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined
        read().catch(fail)
      }, readEveryMs)
    }
    await follow({ url, accept: tableType, revision, signal, take: readLater })
  } catch (error) {
    fail(error)
  }
}

function keyOf({
  namespace,
  name,
}: {
  readonly namespace?: string
  readonly name: string
}): string {
  return `${namespace ?? ''}/${name}`
}
