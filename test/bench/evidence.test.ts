import t from 'tap'
import { evidenceBench } from '../../bench/evidence/evidence.ts'

t.test('the bench of evidence runs', async t => {
  const { tables, floors } = await evidenceBench.run({ size: 'small', progress: () => undefined })
  t.match(tables[0]?.title, '2 resources')
  t.equal(floors.length, 3)
  t.ok(
    floors.every(({ value }) => value > 0),
    'nothing was measured as nothing',
  )
  t.ok(Number(floors[0]?.value) < 60, 'the reads were answered from the mirror')
})
