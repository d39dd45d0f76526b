import t from 'tap'
import { measureServing } from '../../bench/engine/serving.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test(
  'the serving bench runs, and both servers hold the same in the end',
  { skip: etcd.skip },
  async t => {
    const { table, hash } = await measureServing({ size: 'small', progress: () => undefined })
    t.equal(table.rows.length, 4)
    t.ok(table.rows.every(row => row.slice(1).every(figure => Number(figure) > 0)))
    t.match(hash, /^[0-9a-f]{16}$/)
  },
)
