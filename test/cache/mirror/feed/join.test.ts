import t from 'tap'
import {
  contentsOf,
  createReadyFixture,
  keyspaceNamed,
  type MirrorFixture,
  read,
  watchOutcome,
} from '../../../support/mirror/mirror-builders.ts'
import { changesAt, TinyEtcd } from '../../../support/etcd/tiny-etcd.ts'

const any = { type: 'any' } as const

/** A ready mirror of keyspace `a`, with an entry of `c` in etcd, whose ranges wait until
 *  `release`. */
async function createJoining(): Promise<MirrorFixture & { release: () => void }> {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/c/1': 'x' })
  const fixture = await createReadyFixture({ etcd, keyspaces: ['a'] })
  let release = (): void => {}
  etcd.held = new Promise(resolve => {
    release = () => {
      etcd.held = undefined
      resolve()
    }
  })
  fixture.mirror.add(keyspaceNamed('c'))
  await fixture.clock.advance(0)
  return { ...fixture, release }
}

t.test('a keyspace that is added while the mirror runs is joined with the stream', async t => {
  const { etcd, mirror, clock, sink, release } = await createJoining()
  etcd.put({ '/r/c/2': 'part of what is read' })
  const after = etcd.write({ '/r/c/1': 'y', '/r/a/1': 'y' })
  const waiting = watchOutcome(read(mirror, 'c', any))
  await clock.advance(0)
  t.equal(waiting.now(), 'waiting', 'never half a mirror')
  release()
  await clock.advance(0)
  etcd.lastWatch.deliver([after])
  const { entries } = contentsOf(await read(mirror, 'c', any))
  t.same(entries, ['/r/c/1=y', '/r/c/2=part of what is read'])
  t.same(
    sink.told.filter(line => line.startsWith('c ') || line.startsWith('applied c')),
    ['c is catching-up', 'c is ready'],
  )
  t.equal(etcd.watches.length, 1, 'on the same stream')
})

t.test('what the stream brings before the read returns is put behind it, once', async t => {
  const { etcd, mirror, clock, sink, release } = await createJoining()
  etcd.put({ '/r/c/1': 'y' })
  const answer = etcd.range.bind(etcd)
  etcd.range = async (...args) => {
    etcd.range = answer
    const page = await answer(...args)
    etcd.put({ '/r/c/2': 'written after the read, delivered before its answer' })
    etcd.put({ '/r/c/3': 'z' })
    return page
  }
  mirror.drop('c')
  mirror.add(keyspaceNamed('c'))
  await clock.advance(0)
  release()
  await clock.advance(100)
  const { revision, entries } = contentsOf(await read(mirror, 'c', any))
  t.equal(revision, 5)
  t.equal(entries.length, 3)
  t.same(
    sink.told.filter(line => line.startsWith('applied c')),
    ['applied c@4', 'applied c@5'],
  )
})

t.test('a keyspace whose read is ahead of the stream passes over what it has already', async t => {
  const { etcd, mirror, clock, sink, release } = await createJoining()
  etcd.lastWatch.onProgressRequest = () => {}
  const late = [etcd.write({ '/r/c/2': 'y' }), etcd.write({ '/r/c/1': undefined })]
  release()
  await clock.advance(0)
  t.same(contentsOf(await read(mirror, 'c')), {
    revision: 4,
    entries: ['/r/c/2=y'],
  })
  etcd.lastWatch.deliver(late)
  await clock.advance(0)
  t.same(contentsOf(await read(mirror, 'c', any)).entries, ['/r/c/2=y'])
  t.notOk(sink.told.some(line => line.startsWith('applied c')))
  t.equal(mirror.proven('a'), 4)
})

t.test('a join that meets a fresh bootstrap of its feed is part of that', async t => {
  const { etcd, mirror, clock, release } = await createJoining()
  etcd.lastWatch.deliver([changesAt(3, { '/r/a/none': undefined })], etcd.headerAt(3))
  release()
  await clock.advance(200)
  etcd.lastWatch.accept()
  await clock.advance(0)
  t.same(contentsOf(await read(mirror, 'c')).entries, ['/r/c/1=x'])
})

t.test('a join of which too much changes meanwhile starts over', async t => {
  const etcd = new TinyEtcd()
  for (let i = 10; i < 40; i++) etcd.write({ [`/r/c/${i}`]: 'x' })
  const { mirror, clock, counts } = await createReadyFixture({
    etcd,
    keyspaces: ['a'],
    limits: { pageMinEntries: 10, pageMaxEntries: 10, joinBufferMaxChanges: 3 },
  })
  let isBusy = true
  etcd.onRange = () => {
    for (let i = 10; isBusy && i < 15; i++) etcd.put({ [`/r/c/${i}`]: 'y' })
  }
  mirror.add(keyspaceNamed('c'))
  await clock.advance(0)
  t.equal(mirror.statuses().at(-1)?.state, 'starting')
  isBusy = false
  await clock.advance(1000)
  t.equal(mirror.statuses().at(-1)?.state, 'ready')
  t.equal(counts.get('bootstrap joined'), 2)
  t.equal(contentsOf(await read(mirror, 'c')).entries.filter(one => one.endsWith('y')).length, 5)
})

t.test('many keyspaces are joined a few at a time', async t => {
  const etcd = new TinyEtcd()
  const names = Array.from({ length: 30 }, (_, i) => `k${i}`)
  for (const name of names) etcd.write({ [`/r/${name}/1`]: name })
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  let release = (): void => {}
  etcd.held = new Promise(resolve => {
    release = resolve
  })
  const before = etcd.ranges.length
  for (const name of names) mirror.add(keyspaceNamed(name))
  await clock.advance(0)
  t.equal(etcd.ranges.length - before, 4)
  release()
  await clock.advance(0)
  for (const name of names) {
    t.same(contentsOf(await read(mirror, name)).entries, [`/r/${name}/1=${name}`])
  }
})

t.test('a keyspace outside of what is mirrored, or added twice, is refused', async t => {
  const { mirror } = await createReadyFixture()
  t.throws(() => mirror.add(keyspaceNamed('a')), { code: 'invalid_request' })
  const { range } = keyspaceNamed('../x')
  const outside = { ...keyspaceNamed('x'), range: { ...range, start: range.end! } }
  t.throws(() => mirror.add({ ...outside, range: { start: range.start, end: undefined } }), {
    code: 'invalid_request',
  })
})

t.test('followers are told also of a dropped keyspace that has nothing yet', async t => {
  const { mirror, sink } = await createJoining()
  mirror.drop('c')
  t.equal(sink.told.at(-1), 'reset c dropped')
})

t.test('a join whose read is older than the stream is not believed', async t => {
  const { etcd, mirror, clock, counts, release } = await createJoining()
  const stale = etcd.header
  const answer = etcd.range.bind(etcd)
  let isStale = true
  etcd.range = async (request, signal) => {
    const page = await answer(request, signal)
    return isStale && request.countOnly !== true ? { ...page, header: stale } : page
  }
  mirror.drop('c')
  etcd.put({ '/r/c/1': 'y' })
  mirror.add(keyspaceNamed('c'))
  release()
  await clock.advance(30)
  t.equal(mirror.statuses().at(-1)?.state, 'starting')
  isStale = false
  await clock.advance(1000)
  t.same(contentsOf(await read(mirror, 'c')).entries, ['/r/c/1=y'])
  t.equal(counts.get('newEpoch'), undefined, 'the probe has found no other history')
})
