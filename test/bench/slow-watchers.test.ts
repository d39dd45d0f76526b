import t from 'tap'
import { slowWatchersBench } from '../../bench/watch/slow-watchers.ts'

t.test('the bench of slow watchers runs, and cuts nobody off', async t => {
  const { tables, floors } = await slowWatchersBench.run({
    size: 'small',
    progress: () => undefined,
  })
  t.equal(tables[0]?.rows.length, 6)
  const cut = floors.filter(({ unit }) => unit === 'cut off')
  t.strictSame(
    cut.map(({ value }) => value),
    [0, 0, 0, 0, 0, 0],
  )
})
