import t from 'tap'
import { actorsBench } from '../../bench/actors/actors.ts'

t.test('the bench of actors runs', async t => {
  const { tables, floors } = await actorsBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 2)
  t.ok(floors.every(({ value }) => value > 0))
})
