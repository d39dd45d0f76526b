/** Defaults and strategies: rows/ has tables of what is sent, and which members come of it. Rows
 *  that are `recorded` have what a kube-apiserver 1.36 answered to a create. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Checked, preparedObject } from '../../support/rules/validated.ts'
import { rowsOf, valueAt, withSettings } from '../../support/rules/table.ts'

const folder = 'test/writes'
const bases = ['validation', 'kinds']
  .map(room => readFileSync(`${folder}/${room}/rows/bases.json`, 'utf8'))
  .map(text => JSON.parse(text) as Record<string, Checked>)
  .reduce((all, some) => ({ ...all, ...some }))

for (const name of ['defaults.rows', 'strategies.rows']) {
  const rows = rowsOf(name, readFileSync(`${folder}/kinds/rows/${name}`, 'utf8'))
  for (const rule of new Set(rows.map(row => row.rule))) {
    t.test(`${name}: ${rule}`, async t => {
      for (const row of rows.filter(row => row.rule === rule)) {
        const base = bases[row.base]
        if (base === undefined) throw new Error(`${row.name}: bases.json has no ${row.base}`)
        const { path, object } = base
        const old = row.isUpdate ? withSettings(object, row.setsBefore) : undefined
        const changed = withSettings(old ?? object, row.sets)
        const { subresource } = row
        const made = await preparedObject({ path, object: changed, old, subresource })
        for (const { path: at, value } of row.results) {
          t.strictSame(valueAt(made, at), value, `${row.name}: ${at}`)
        }
      }
    })
  }
}
