import t from 'tap'
import { runEtcdFace } from '../../bench/etcd-face/etcd-face.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test(
  "the bench of etcd's API runs, and every event comes to every client",
  { skip: etcd.skip },
  async t => {
    const { tables, floors } = await runEtcdFace({ size: 'small', progress: () => undefined })
    t.equal(floors.length, 6)
    const events = tables[0]?.rows.find(([name]) => name === 'events')
    t.strictSame(events?.slice(1), [200, 200, 200])
  },
)
