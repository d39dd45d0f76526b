/** The list of kinds. */

import { hashOf, type ListedKind } from './addresses.ts'
import { content, el, field, tell } from './elements.ts'
import { SortedTable } from './table.ts'

export function showKinds(known: ReadonlyMap<string, ListedKind>): void {
  const rows = [...known.values()].map(kind => ({ key: kind.id, hash: hashOf(kind.id), kind }))
  const table = new SortedTable<(typeof rows)[number]>('Kinds', [
    { title: 'Kind', isHead: true, cell: ({ kind }) => kind.resource },
    { title: 'Group', cell: ({ kind }) => kind.group },
    { title: 'Version', cell: ({ kind }) => kind.version },
    {
      title: 'Objects are',
      cell: ({ kind }) => (kind.isNamespaced ? 'in namespaces' : 'of the cluster'),
    },
  ])
  const search = field('Search', 'search', ({ value }) =>
    table.show(rows.filter(({ key }) => key.includes(value.toLowerCase()))),
  )
  content.replaceChildren(el('div', { class: 'tools' }, search.node), table.node)
  table.show(rows)
  tell(`${rows.length} kinds`)
}
