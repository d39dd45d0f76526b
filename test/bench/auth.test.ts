import t from 'tap'
import { authBench } from '../../bench/auth/auth.ts'

t.test('the bench of authorization runs', async t => {
  const { tables, floors } = await authBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 3)
  t.ok(floors.every(({ value }) => value > 0))
})
