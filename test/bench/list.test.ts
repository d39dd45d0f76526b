import t from 'tap'
import { listBench } from '../../bench/list/list.ts'

t.test('the bench of lists runs', async t => {
  const result = await listBench.run({ size: 'small', progress: () => undefined })
  t.equal(result.tables[0]?.rows.length, 14)
  t.equal(result.floors.length, 14)
})
