import t from 'tap'
import { sizingBench } from '../../bench/sizing/sizing.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of sizes runs', { skip: etcd.skip }, async t => {
  const { tables, floors } = await sizingBench.run({ size: 'small', progress: () => undefined })
  const [memory, time, churn] = tables
  t.same(
    memory?.rows.map(([kind, objects]) => [kind, objects]),
    [
      ['pods', 2_000],
      ['custom resources', 2_000],
    ],
  )
  t.ok(memory?.rows.every(([, , ...figures]) => figures.every(figure => Number(figure) > 1)))
  t.ok(time?.rows.every(([, , seconds]) => Number(seconds) > 0))
  t.ok(
    churn?.rows.every(([, , , , events]) => Number(events) > 0),
    'all events came',
  )
  t.equal(floors.length, 4)
})
