import t from 'tap'
import { watchBench } from '../../bench/watch/watch.ts'

t.test('the bench of watches runs', async t => {
  const result = await watchBench.run({ size: 'small', progress: () => undefined })
  t.strictSame(
    result.tables.map(({ rows }) => rows.length),
    [3, 3, 1, 2, 2],
  )
  t.equal(result.floors.length, 19)
  t.ok(result.floors.every(({ value }) => Number.isFinite(value)))
})
