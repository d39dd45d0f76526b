import t from 'tap'
import { nodesBench } from '../../bench/nodes/nodes.ts'

t.test('the bench of nodes runs, and nothing is lost or ended', async t => {
  const { tables, floors } = await nodesBench.run({ size: 'small', progress: () => undefined })
  t.strictSame(
    tables.map(({ rows }) => rows.length),
    [2, 1, 6],
  )
  const exact = floors.filter(({ unit }) => unit === 'of all' || unit === 'watches')
  t.strictSame(
    exact.map(({ value }) => value),
    [1, 0],
  )
})
