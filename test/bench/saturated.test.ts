import t from 'tap'
import { ingestBench } from '../../bench/ingest/ingest.ts'

t.test('the bench of saturated changes runs', async t => {
  const { tables, floors } = await ingestBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables[0]?.rows.length, 2)
  t.equal(floors.length, 1)
  t.ok(floors.every(({ value }) => value > 0))
})
