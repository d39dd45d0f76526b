import t from 'tap'
import { revision } from '../../../../lib/base/revision.ts'
import type { ResponseHeader } from '../../../../lib/etcd/client.ts'
import { Epochs } from '../../../../lib/cache/mirror/feed/epochs.ts'

t.test(
  'an answer at or above what was known when its request began is of the same epoch',
  async t => {
    const epochs = new Epochs()
    epochs.witness(header({ revision: 10 }))
    const mark = epochs.mark()
    t.equal(epochs.judge(mark, header({ revision: 10 })), 'same')
    t.equal(epochs.judge(mark, header({ revision: 12 })), 'same')
    t.equal(epochs.witnessed, 12)
  },
)

t.test('answers may overtake each other', async t => {
  const epochs = new Epochs()
  epochs.witness(header({ revision: 10 }))
  const slow = epochs.mark()
  t.equal(epochs.judge(epochs.mark(), header({ revision: 15 })), 'same')
  t.equal(epochs.judge(slow, header({ revision: 12 })), 'same', 'it began when 10 was known')
  t.equal(epochs.witnessed, 15)
})

t.test('a revision or a raft term that goes back is noticed', async t => {
  const epochs = new Epochs()
  epochs.judge(epochs.mark(), header({ revision: 10, raftTerm: 5 }))
  t.equal(epochs.judge(epochs.mark(), header({ revision: 9, raftTerm: 5 })), 'went back')
  t.equal(epochs.judge(epochs.mark(), header({ revision: 20, raftTerm: 2 })), 'went back')
  t.equal(epochs.witnessed, 10)
})

t.test('the term of a member that is cut off is not the term of the cluster', async t => {
  const epochs = new Epochs()
  epochs.witness(header({ revision: 10, raftTerm: 9 }))
  t.equal(epochs.judge(epochs.mark(), header({ revision: 10, raftTerm: 2 })), 'same')
})

t.test('another cluster id is noticed, whatever the revision', async t => {
  const epochs = new Epochs()
  epochs.witness(header({ revision: 10 }))
  t.equal(epochs.judge(epochs.mark(), header({ revision: 11, clusterId: 2 })), 'another cluster')
  t.ok(epochs.isOtherCluster(header({ clusterId: 2 })))
})

t.test(
  'a new epoch takes over the header that began it and lets the old revisions expire',
  async t => {
    const epochs = new Epochs()
    epochs.witness(header({ revision: 1000, raftTerm: 7 }))
    const old = epochs.mark()
    epochs.startNew(header({ revision: 500, raftTerm: 2, clusterId: 2 }))
    t.equal(epochs.number, 2)
    t.equal(epochs.witnessed, 500)
    t.equal(epochs.expiredThrough, 1000)
    t.equal(epochs.judge(old, header({ revision: 1001 })), 'over')
    t.equal(epochs.judge(epochs.mark(), header({ revision: 501, clusterId: 2 })), 'same')
    epochs.startNew(header({ revision: 100, clusterId: 2 }))
    t.equal(epochs.expiredThrough, 1000, 'the highest of all old epochs')
  },
)

function header(given: {
  revision?: number
  clusterId?: number
  raftTerm?: number
}): ResponseHeader {
  return {
    clusterId: BigInt(given.clusterId ?? 1),
    memberId: 1n,
    raftTerm: BigInt(given.raftTerm ?? 2),
    revision: revision(given.revision ?? 1),
  }
}
