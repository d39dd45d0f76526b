import t from 'tap'
import { mirrorBench } from '../../bench/mirror/mirror.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of the mirror runs', { skip: etcd.skip }, async t => {
  const { tables, floors } = await mirrorBench.run({ size: 'small', progress: () => {} })
  t.equal(tables.length, 3)
  t.ok(floors.every(({ value }) => Number.isFinite(value)))
})
