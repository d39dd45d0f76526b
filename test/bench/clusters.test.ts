import t from 'tap'
import { clustersBench } from '../../bench/clusters/clusters.ts'
import { neighboursBench } from '../../bench/clusters/neighbours.ts'

t.test('the bench of many clusters runs', async t => {
  const { tables, floors } = await clustersBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 2)
  t.equal(floors.length, 6)
})

t.test('the bench of neighbours runs', async t => {
  const { tables, floors } = await neighboursBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables[0]?.rows.length, 6)
  t.equal(floors.length, 3)
})
