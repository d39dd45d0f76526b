import t from 'tap'
import { admissionBench } from '../../bench/admission/admission.ts'

t.test('the bench of admission runs', async t => {
  const { tables, floors } = await admissionBench.run({ size: 'small', progress: () => undefined })
  t.equal(tables.length, 2)
  t.same(
    floors.map(({ limit }) => limit),
    [1.5, 1.5, 5],
  )
})
