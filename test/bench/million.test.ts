import t from 'tap'
import { millionBench } from '../../bench/million/million.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of a million objects runs', { skip: etcd.skip }, async t => {
  const { tables, floors, resultHash } = await millionBench.run({
    size: 'small',
    progress: () => undefined,
  })
  const [starts, reads, turns, memory] = tables
  t.equal(starts?.rows.length, 3, 'a start without objects, with a tenth and with all')
  t.ok(
    reads?.rows.every(([, answers]) => answers !== 0),
    'everything was answered',
  )
  t.equal(turns?.rows.length, 6)
  t.ok(memory?.rows.every(([, megabytes]) => Number(megabytes) > 1))
  t.equal(floors.length, 15)
  t.match(resultHash, /^[0-9a-f]{16}$/)
})
