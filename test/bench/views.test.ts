import t from 'tap'
import { viewsBench } from '../../bench/views/views.ts'

t.test('the bench of views runs', async t => {
  const { tables, floors } = await viewsBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 2)
  t.equal(floors.length, 8)
  t.ok(floors.every(({ limit }) => limit > 0))
})
