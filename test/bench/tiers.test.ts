import t from 'tap'
import { tiersBench } from '../../bench/tiers/tiers.ts'

t.test('the bench of tiers runs, and nothing is lost when a relay is killed', async t => {
  const { tables, floors } = await tiersBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables[0]?.rows.length, 3)
  for (const floor of floors.filter(({ name }) => name.startsWith('delivered'))) {
    t.equal(floor.value, 1, floor.name)
  }
})
