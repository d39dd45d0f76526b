import t from 'tap'
import { resumeBench } from '../../bench/resume/resume.ts'

t.test('the bench of resumed watches runs', async t => {
  const { tables, floors } = await resumeBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables[0]?.rows.length, 3)
  t.equal(floors.length, 6)
  t.ok(floors.every(({ value }) => value > 0))
})
