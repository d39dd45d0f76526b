/** Options of writes, in a query or in a body (apimachinery: meta/v1/types.go and its conversion of
 *  queries). */

import t from 'tap'
import { deleteOptionsFromQuery, deleteOptionsFromTree } from '../../lib/writes/write-options.ts'
import { textFromTree } from '../../lib/go/json/tree.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { treeOf } from './recorded/load.ts'

t.test('options in a query are those of a body, also for who looks at them', async t => {
  const rows: readonly (readonly [string, object])[] = [
    ['', {}],
    ['dryRun=All', { dryRun: ['All'] }],
    ['gracePeriodSeconds=5', { gracePeriodSeconds: 5 }],
    ['orphanDependents=false', { orphanDependents: false }],
    ['propagationPolicy=Orphan', { propagationPolicy: 'Orphan' }],
  ]
  for (const [query, body] of rows) {
    const { tree, ...options } = deleteOptionsFromQuery(parseQuery(query))
    const { tree: sent, ...expected } = deleteOptionsFromTree(treeOf(body))
    t.equal(textFromTree(tree ?? null), textFromTree(sent ?? null), query)
    t.strictSame(options, expected, query)
  }
})
