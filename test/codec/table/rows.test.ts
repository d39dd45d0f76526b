/** Cells by their columns: rows/ has what is set in the objects of validation's tables, and what a
 *  kube-apiserver 1.36 printed of them. Each is read from protobuf and from JSON. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { rowsOf, valueAt, withSettings } from '../../support/rules/table.ts'
import { cellsOf, created } from './cells.ts'

interface Base {
  readonly path: string
  readonly object: { readonly apiVersion: string; readonly kind: string }
}

const bases = JSON.parse(readFileSync('test/writes/validation/rows/bases.json', 'utf8')) as Record<
  string,
  Base
>
const schema = schemaOf('1.36')

t.test('cells are those that a kube-apiserver prints', async t => {
  const rows = rowsOf('cells.rows', readFileSync('test/codec/table/rows/cells.rows', 'utf8'))
  for (const row of rows) {
    const base = bases[row.base]
    if (base === undefined) throw new Error(`${row.name}: bases.json has no ${row.base}`)
    const { apiVersion, kind, ...object } = withSettings(base.object, row.sets)
    const own = valueAt(object, 'metadata') as object
    const metadata = { creationTimestamp: created, ...own }
    const cells = cellsOf(apiVersion, kind, { ...object, metadata })
    const [version = '', group = ''] = apiVersion.split('/').reverse()
    const resource = base.path.split('/').at(-1) ?? ''
    const table = schema.tables.find(
      one => one.group === group && one.version === version && one.resource === resource,
    )
    const columns = table?.columnDefinitions ?? []
    const named = Object.fromEntries(columns.map(({ name }, i) => [name, plain(cells[i])]))
    for (const { path, value } of row.results) {
      t.strictSame(valueAt(named, path), value, `${row.name}: ${path}`)
    }
  }
  t.ok(rows.length > 0)
})

function plain(cell: unknown): unknown {
  return typeof cell === 'bigint' ? Number(cell) : cell
}
