import t from 'tap'
import { listBench } from '../../bench/list/list.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the bench of lists runs, with the floors of an etcd where there is one', async t => {
  const { tables, floors, resultHash } = await listBench.run({
    size: 'small',
    progress: () => undefined,
  })
  const [lists, larger] = tables
  t.equal(lists?.rows.length, 18, 'nine answers, each over both versions of HTTP')
  t.equal(larger?.rows.length, 4)
  t.equal(floors.length, etcd.skip === false ? 26 : 22)
  t.ok(
    floors.every(({ value }) => value > 0),
    'nothing was measured as nothing',
  )
  t.match(resultHash, /^[0-9a-f]{16}$/)
})
