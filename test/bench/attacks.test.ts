import t from 'tap'
import { attacksBench } from '../../bench/attacks/attacks.ts'

t.test('the bench of attacks runs', async t => {
  const { tables, floors } = await attacksBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 1)
  t.ok(floors.every(({ value }) => value > 0))
})
