/** Objects that are made when they are asked for, such as usage figures: the server has no views of
 *  them, and they are shown as it lists them. */

import { hashOf, type ListPlace, pathOf } from './addresses.ts'
import { askJson, type TableAnswer, tableType } from './api.ts'
import { tell } from './elements.ts'
import { columnsOf, type ObjectRow, SortedTable } from './table.ts'

export async function showUnsorted(
  { kind, namespace, signal }: ListPlace,
  place: HTMLElement,
): Promise<void> {
  const url = `${pathOf(kind, namespace)}?limit=1000`
  const { columnDefinitions, rows = [] } = await askJson<TableAnswer>(url, tableType, signal)
  const table = new SortedTable<ObjectRow>(kind.id, columnsOf(columnDefinitions, false))
  place.replaceChildren(table.node)
  table.show(
    rows.map(row => {
      const { namespace: within = '', name } = row.object.metadata
      return { key: `${within}/${name}`, hash: hashOf(kind.id, within, name), row }
    }),
  )
  tell('These objects can be neither searched nor watched: reload for newer ones')
}
