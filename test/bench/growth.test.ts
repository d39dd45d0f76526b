import t from 'tap'
import { growthBench } from '../../bench/million/growth.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of what grows runs', { skip: etcd.skip }, async t => {
  const { tables } = await growthBench.run({ size: 'small', progress: () => undefined })
  const [{ columns, rows } = { columns: [], rows: [] }] = tables
  t.equal(columns.length, 4)
  t.ok(rows.length > 15)
  t.ok(
    rows.every(row => row.slice(1).every(value => Number(value) > 0)),
    rows.join('\n'),
  )
})
