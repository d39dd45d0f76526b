import t from 'tap'
import { coldBench } from '../../bench/million/cold.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of first lists runs', { skip: etcd.skip }, async t => {
  const { tables, floors, resultHash } = await coldBench.run({
    size: 'small',
    progress: () => undefined,
  })
  t.same(
    tables[0]?.rows.map(([threads]) => threads),
    [1, 2],
  )
  t.ok(
    floors.every(({ value }) => value > 0),
    'everything was measured',
  )
  t.match(resultHash, /^[0-9a-f]{16}$/)
})
