import t from 'tap'
import { revision } from '../../../../lib/base/revision.ts'
import { compactRevisionKey } from '../../../../lib/cache/mirror/feed/compaction.ts'
import {
  contentsOf,
  createFixture,
  type MirrorFixture,
  read,
} from '../../../support/mirror/mirror-builders.ts'

const exact = (at: number) => ({ type: 'exact', revision: revision(at) }) as const

async function createFollowing(): Promise<MirrorFixture> {
  const fixture = createFixture({ mirror: { compactRevisionKey } })
  fixture.mirror.start()
  await fixture.clock.advance(0)
  for (const watch of fixture.etcd.watches) watch.accept()
  await fixture.clock.advance(0)
  return fixture
}

t.test('an exact read below the compacted revision has expired, one at it has not', async t => {
  const { etcd, mirror } = await createFollowing()
  for (let i = 0; i < 5; i++) etcd.put({ '/r/a/1': `${i}` })
  etcd.put({ compact_rev_key: '4' })
  t.equal(mirror.compactRevision, 4)
  t.same(contentsOf(await read(mirror, 'a', exact(4))).entries, ['/r/a/1=2'])
  await t.rejects(read(mirror, 'a', exact(3), 'anywhere'), {
    code: 'expired',
    details: { oldest: 4 },
  })
  const { store } = mirror.keyspace('a')
  t.not(store.since(revision(2)), 'expired', 'a watch from there goes on, as upstream')
})

t.test('what was compacted before the start is known, and the key is followed again', async t => {
  const { etcd, mirror, clock } = await createFollowing()
  etcd.put({ compact_rev_key: '2' })
  const stream = etcd.watches.find(watch => watch.request.range.start === compactRevisionKey)
  stream?.fail()
  etcd.write({ compact_rev_key: '3' })
  await clock.advance(100)
  t.equal(mirror.compactRevision, 3)
  etcd.lastWatch.accept()
  etcd.put({ compact_rev_key: 'nonsense' })
  etcd.put({ compact_rev_key: '1' })
  t.equal(mirror.compactRevision, 3, 'what is no revision, or goes back, changes nothing')
  etcd.put({ compact_rev_key: '4' })
  t.equal(mirror.compactRevision, 4)
})

t.test('a new epoch knows nothing of the compactions of the old one', async t => {
  const { etcd, mirror, clock } = await createFollowing()
  for (let i = 0; i < 5; i++) etcd.put({ '/r/a/1': `${i}` })
  etcd.put({ compact_rev_key: '5' })
  etcd.restoreTo(3, 2n)
  for (const watch of etcd.watches) watch.fail()
  await clock.advance(500)
  t.equal(mirror.compactRevision, 0)
})

t.test('a mirror that is stopped while the key is being read stops at once', async t => {
  const { mirror, clock } = createFixture({ mirror: { compactRevisionKey } })
  let isStopped = false
  mirror.start()
  void mirror.stop().then(() => (isStopped = true))
  await clock.advance(0)
  t.ok(isStopped)
  t.equal(clock.pendingTimers, 0)
})
