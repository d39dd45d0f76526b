import t from 'tap'
import { threadsBench } from '../../bench/threads/threads.ts'

t.test('the bench of threads runs', async t => {
  const { tables, floors } = await threadsBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 6)
  t.ok(floors.length > 4)
})
