import t from 'tap'
import { writeBench } from '../../bench/write/write.ts'

t.test('the bench of writes runs, and watchers see all of them', async t => {
  const { tables, floors } = await writeBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables[0]?.rows.length, 10)
  t.equal(floors.length, 6)
})
