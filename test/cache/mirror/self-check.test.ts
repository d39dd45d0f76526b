import t from 'tap'
import {
  contentsOf,
  createReadyFixture,
  read,
  watchOutcome,
} from '../../support/mirror/mirror-builders.ts'

const minutes = 60_000
/** Ticks of a stream that lives for minutes would drown the test. */
const limits = { selfCheckIntervalMs: 5 * minutes, selfCheckPageEntries: 10 }

t.test('a mirror that agrees with etcd is found to', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture({ limits })
  for (let i = 10; i < 35; i++) etcd.put({ [`/r/a/${i}`]: 'x' })
  await clock.advance(8 * minutes)
  t.equal(counts.get('selfCheck agreed'), 2, 'one for each keyspace')
  const pages = etcd.ranges.filter(request => request.keysOnly === true)
  t.equal(pages.length, 4)
  t.ok(pages.every(page => page.revision === 26))
  t.equal(mirror.statuses()[0]?.state, 'ready')
})

t.test('a keyspace that lost an event is not served until a fresh read agrees', async t => {
  const { etcd, mirror, clock, counts, sink } = await createReadyFixture({ limits })
  etcd.put({ '/r/a/1': 'x', '/r/b/1': 'x' })
  etcd.write({ '/r/a/1': 'lost' })
  etcd.put({ '/r/b/1': 'y' })
  t.same(contentsOf(await read(mirror, 'a')).entries, ['/r/a/1=x'], 'nobody can tell yet')
  let isHealed = false
  etcd.onRange = request => {
    // The fresh read, and its check, come while nothing is served.
    if (request.revision !== undefined || request.countOnly === true) return
    isHealed = true
    t.equal(mirror.statuses()[0]?.state, 'suspect')
    t.equal(watchOutcome(read(mirror, 'a', { type: 'any' })).now(), 'waiting')
  }
  await clock.advance(8 * minutes)
  t.ok(isHealed)
  t.equal(counts.get('selfCheck differed'), 1)
  t.ok(sink.told.includes('reset a distrusted'))
  t.notOk(sink.told.includes('reset b distrusted'), 'the other keyspace agreed')
  t.same(contentsOf(await read(mirror, 'a')).entries, ['/r/a/1=lost'])
})

t.test('a check that etcd does not let finish finds out nothing', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture({ limits })
  for (let i = 10; i < 35; i++) etcd.put({ [`/r/a/${i}`]: 'x' })
  etcd.onRange = request => {
    if (request.keysOnly === true) etcd.compacted = 1000
  }
  await clock.advance(8 * minutes)
  t.equal(counts.get('selfCheck abandoned'), 2)
  t.equal(mirror.statuses()[0]?.state, 'ready')
})
