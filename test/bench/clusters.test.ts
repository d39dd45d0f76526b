import t from 'tap'
import { clustersBench } from '../../bench/clusters/clusters.ts'

t.test('the bench of many clusters runs', async t => {
  const { tables, floors } = await clustersBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 2)
  t.equal(floors.length, 6)
})
