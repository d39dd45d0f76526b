import t from 'tap'
import { keyAfter } from '../../../../lib/base/keys.ts'
import { CacheError } from '../../../../lib/base/errors.ts'
import type { LogFields } from '../../../../lib/base/logger.ts'
import { revision } from '../../../../lib/base/revision.ts'
import type { RangeRequest } from '../../../../lib/etcd/client.ts'
import { putOf } from '../../../support/store/store-builders.ts'
import { silentLogger } from '../../../support/silent-logger.ts'
import { TinyEtcd, changesAt } from '../../../support/etcd/tiny-etcd.ts'
import {
  contentsOf,
  createFixture,
  createReadyFixture,
  keyspaceNamed,
  read,
  watchOutcome,
} from '../../../support/mirror/mirror-builders.ts'

const any = { type: 'any' } as const

t.test('a mirror reads everything at one revision, then watches from the next', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'x', '/r/b/1': 'y', '/other': 'z' })
  const { mirror, clock, sink } = createFixture({ etcd })
  mirror.start()
  await clock.advance(0)
  t.equal(etcd.lastWatch.request.startRevision, 3)
  etcd.lastWatch.accept()
  await clock.advance(0)
  t.same(contentsOf(await read(mirror, 'a')), { revision: 2, entries: ['/r/a/1=x'] })
  t.same(contentsOf(await read(mirror, 'b')), { revision: 2, entries: ['/r/b/1=y'] })
  t.same(sink.told, ['a is catching-up', 'b is catching-up', 'a is ready', 'b is ready'])
})

t.test('every page of a bootstrap is read at the revision of the first', async t => {
  const etcd = new TinyEtcd()
  for (let i = 10; i < 35; i++) etcd.write({ [`/r/a/${i}`]: 'x' })
  const isPage = ({ countOnly, limit }: RangeRequest): boolean => countOnly !== true && limit !== 1
  etcd.onRange = request => {
    if (isPage(request)) etcd.write({ '/r/a/zz': `${etcd.ranges.length}` })
  }
  const { mirror } = await createReadyFixture({
    etcd,
    limits: { pageMinEntries: 10, pageMaxEntries: 10 },
  })
  const pages = etcd.ranges.filter(isPage)
  t.same(
    pages.map(page => page.revision),
    [undefined, 27, 27],
  )
  const { entries } = contentsOf(await read(mirror, 'a'))
  t.equal(entries.length, 26)
  t.equal(entries.at(-1), '/r/a/zz=3', 'and the events after it were applied')
})

t.test('a bootstrap whose revision is compacted starts over', async t => {
  const etcd = new TinyEtcd()
  for (let i = 10; i < 35; i++) etcd.write({ [`/r/a/${i}`]: 'x' })
  etcd.onRange = request => {
    if (request.revision === 26) {
      etcd.onRange = () => {}
      etcd.write({ '/r/a/new': 'y' })
      etcd.compacted = 27
    }
  }
  const { mirror, clock } = createFixture({
    etcd,
    limits: { pageMinEntries: 10, pageMaxEntries: 10 },
  })
  mirror.start()
  await clock.advance(100)
  etcd.lastWatch.accept()
  await clock.advance(0)
  t.equal(contentsOf(await read(mirror, 'a')).entries.length, 26)
  t.equal(etcd.lastWatch.request.startRevision, 28)
})

t.test('all changes of a revision are seen together', async t => {
  const { etcd, mirror, sink } = await createReadyFixture()
  etcd.put({ '/r/a/1': 'x', '/r/b/1': 'y', '/r/a/2': 'z' })
  t.same(contentsOf(await read(mirror, 'a', any)).entries, ['/r/a/1=x', '/r/a/2=z'])
  t.same(contentsOf(await read(mirror, 'b', any)).entries, ['/r/b/1=y'])
  t.same(sink.told.slice(-2), ['applied a@2', 'applied b@2'])
})

t.test('a large transaction is applied in steps, and seen together at the end', async t => {
  const { mirror, sink } = await createReadyFixture()
  const [feed] = mirror.feeds
  const keys = Array.from({ length: 1000 }, (_, i) => `/r/${i % 2 === 0 ? 'a' : 'b'}/${i}`)
  const changes = keys.map(key => putOf(key, 3))
  let steps = 0
  for (const apply = feed!.apply({ revision: revision(3), changes }); ; steps++) {
    if (apply.next().done === true) break
    t.same(
      sink.told.filter(text => text.startsWith('applied')),
      [],
    )
    t.same(contentsOf(await read(mirror, 'a', any)).entries, [])
  }
  t.ok(steps > 1000 / 64, 'each is short')
  t.equal(contentsOf(await read(mirror, 'a', any)).entries.length, 500)
  t.equal(contentsOf(await read(mirror, 'b', any)).entries.length, 500)
  t.same(sink.told.slice(-2), ['applied a@3', 'applied b@3'])
})

t.test('a keyspace that is added while a transaction is applied has its part', async t => {
  const { mirror, clock } = await createReadyFixture()
  const [feed] = mirror.feeds
  const changes = Array.from({ length: 1000 }, (_, i) => putOf(`/r/a/${i}`, 3))
  const apply = feed!.apply({ revision: revision(3), changes: [...changes, putOf('/r/c/1', 3)] })
  apply.next()
  mirror.add(keyspaceNamed('c'))
  while (apply.next().done !== true);
  await clock.advance(0)
  t.same(contentsOf(await read(mirror, 'c', any)).entries, ['/r/c/1=/r/c/1@3'])
})

t.test('a stream that fails is opened again from the revision after the last change', async t => {
  const { etcd, mirror, clock, sink } = await createReadyFixture()
  etcd.put({ '/r/a/1': 'x' })
  etcd.lastWatch.fail()
  await clock.advance(0)
  t.equal(mirror.statuses()[0]?.state, 'cut-off')
  etcd.write({ '/r/a/2': 'y' })
  t.same(contentsOf(await read(mirror, 'a', any)).entries, ['/r/a/1=x'], 'still answers')
  await clock.advance(100)
  t.equal(etcd.watches.length, 2)
  t.equal(etcd.lastWatch.request.startRevision, 3)
  etcd.lastWatch.accept()
  await clock.advance(0)
  t.same(sink.told.slice(-5, -1), ['a is cut-off', 'b is cut-off', 'applied a@3', 'a is ready'])
  t.equal(mirror.statuses()[0]?.state, 'ready')
})

t.test(
  'what was missed may be compacted: everything is read again, and served until then',
  async t => {
    const { etcd, mirror, clock, sink } = await createReadyFixture()
    etcd.put({ '/r/a/1': 'x', '/r/a/2': 'x' })
    etcd.lastWatch.fail()
    etcd.write({ '/r/a/1': 'y' })
    etcd.compacted = 3
    await clock.advance(100)
    let release = (): void => {}
    etcd.held = new Promise(resolve => {
      release = resolve
    })
    etcd.lastWatch.fail('expired')
    await clock.advance(0)
    t.same(contentsOf(await read(mirror, 'a', any)).entries, ['/r/a/1=x', '/r/a/2=x'])
    release()
    await clock.advance(100)
    etcd.lastWatch.accept()
    t.same(contentsOf(await read(mirror, 'a', any)).entries, ['/r/a/1=y', '/r/a/2=x'])
    t.ok(sink.told.includes('reset a restored'), 'positions from before have expired')
  },
)

t.test('each violation of order is counted and answered by reading everything again', async t => {
  const cases: readonly [kind: string, break_: (etcd: TinyEtcd) => void][] = [
    ['unknown-delete', etcd => etcd.lastWatch.deliver([changesAt(4, { '/r/a/9': undefined })])],
    ['revision-repeated', etcd => etcd.lastWatch.deliver([changesAt(3, { '/r/a/2': 'again' })])],
    ['revision-went-back', etcd => etcd.lastWatch.deliver([changesAt(2, { '/r/a/1': 'old' })])],
    ['progress-went-back', etcd => etcd.lastWatch.progress(2)],
    [
      'event-overtaken',
      etcd => {
        etcd.lastWatch.progress(5)
        etcd.lastWatch.deliver([changesAt(4, { '/r/a/1': 'late' })], etcd.headerAt(5))
      },
    ],
    [
      'header-below-event',
      etcd => etcd.lastWatch.deliver([changesAt(4, { '/r/a/1': 'x' })], etcd.headerAt(3)),
    ],
    [
      'foreign-revision',
      etcd => {
        const { changes } = changesAt(9, { '/r/a/1': 'x' })
        etcd.lastWatch.deliver([{ revision: revision(4), changes }], etcd.headerAt(4))
      },
    ],
  ]
  for (const [kind, breakOrder] of cases) {
    const { etcd, mirror, clock, counts, sink } = await createReadyFixture()
    etcd.put({ '/r/a/1': 'x' })
    etcd.put({ '/r/a/2': 'x' })
    etcd.write({ '/elsewhere': 'so that etcd is at revision 4' })
    breakOrder(etcd)
    await clock.advance(0)
    t.equal(counts.get(`violation ${kind}`), 1, kind)
    t.ok(sink.told.includes('reset a distrusted'))
    t.ok(etcd.watches[0]?.isCancelled)
    await clock.advance(200)
    etcd.lastWatch.accept()
    await clock.advance(0)
    const expected = ['/r/a/1=x', '/r/a/2=x']
    t.same(contentsOf(await read(mirror, 'a')).entries, expected, `healed after ${kind}`)
  }
})

t.test('nothing is served between a violation and the fresh read', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  etcd.put({ '/r/a/1': 'x' })
  let release = (): void => {}
  etcd.held = new Promise(resolve => {
    release = resolve
  })
  const waiting = watchOutcome(read(mirror, 'a'))
  etcd.lastWatch.deliver([changesAt(3, { '/r/a/9': undefined })], etcd.headerAt(3))
  const late = watchOutcome(read(mirror, 'a', any))
  const elsewhere = watchOutcome(read(mirror, 'a', any, 'anywhere'))
  await clock.advance(0)
  t.equal(mirror.statuses()[0]?.state, 'suspect')
  t.same([waiting.now(), late.now(), elsewhere.now()], ['waiting', 'waiting', 'suspect'])
  release()
  await clock.advance(200)
  t.same([waiting.now(), late.now()], ['at 2', 'at 2'])
})

t.test('another cluster id, or a revision that goes back, is a new epoch', async t => {
  for (const clusterId of [1n, 2n]) {
    const { etcd, mirror, clock, sink, counts } = await createReadyFixture()
    for (let i = 0; i < 8; i++) etcd.put({ '/r/a/1': `${i}` })
    etcd.restoreTo(4, clusterId)
    etcd.lastWatch.fail()
    const states: (string | undefined)[] = []
    etcd.onRange = ({ countOnly }) => {
      if (countOnly !== true) states.push(mirror.statuses()[0]?.state)
    }
    await clock.advance(200)
    t.same(states, ['starting'], 'nothing is served while everything is read again')
    t.equal(counts.get('newEpoch'), 1)
    t.ok(sink.told.includes('reset a new epoch'))
    etcd.lastWatch.accept()
    t.same(contentsOf(await read(mirror, 'a')), { revision: 4, entries: ['/r/a/1=2'] })
    for (const old of [5, 9]) {
      for (const type of ['exact', 'not-older-than'] as const) {
        const outcome = watchOutcome(read(mirror, 'a', { type, revision: revision(old) }))
        await clock.advance(0)
        t.equal(outcome.now(), 'expired', `${type} ${old} is of the old epoch`)
      }
    }
    const above = watchOutcome(read(mirror, 'a', { type: 'exact', revision: revision(10) }))
    await clock.advance(3000)
    t.equal(above.now(), 'future_revision', 'no epoch ever had it')
    t.ok(mirror.isOfOldEpoch(revision(9)))
    t.notOk(mirror.isOfOldEpoch(revision(4)))
  }
})

t.test('a linearizable answer that goes back once was stale: it begins no epoch', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture()
  for (let i = 0; i < 8; i++) etcd.put({ '/r/a/1': `${i}` })
  const answer = etcd.range.bind(etcd)
  etcd.range = async (...args) => {
    etcd.range = answer
    return { ...(await answer(...args)), header: etcd.headerAt(5) }
  }
  t.equal(contentsOf(await read(mirror, 'a')).revision, 9)
  await clock.advance(0)
  t.equal(counts.get('newEpoch'), undefined)
  t.equal(counts.get('violation stale-quorum-read'), 1)
})

t.test(
  'a store that is wrong about its revision where a key is missing is asked for a range',
  async t => {
    const { etcd, mirror, counts } = await createReadyFixture()
    for (let i = 0; i < 8; i++) etcd.put({ '/r/a/1': `${i}` })
    const answer = etcd.range.bind(etcd)
    // As kine after concurrent writes, until the next one.
    etcd.range = async (request, signal) => {
      const page = await answer(request, signal)
      const isKey = request.range.end === keyAfter(request.range.start)
      return isKey && page.entries.length === 0 ? { ...page, header: etcd.headerAt(5) } : page
    }
    t.equal(contentsOf(await read(mirror, 'a')).revision, 9)
    t.equal(counts.get('newEpoch'), undefined)
    t.equal(counts.get('violation stale-quorum-read'), undefined)
  },
)

t.test('etcd that goes back and is restored again is not called stale', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture()
  for (let i = 0; i < 8; i++) etcd.put({ '/r/a/1': `${i}` })
  const answer = etcd.range.bind(etcd)
  etcd.range = async (...args) => {
    etcd.range = answer
    const first = await answer(...args)
    etcd.restoreTo(5)
    etcd.connections = 1
    while (etcd.revision < 9) etcd.write({ '/r/a/1': 'other' })
    return { ...first, header: etcd.headerAt(5) }
  }
  const waiting = watchOutcome(read(mirror, 'a'))
  await clock.advance(300)
  t.equal(counts.get('newEpoch'), 1)
  t.equal(counts.get('violation stale-quorum-read'), undefined)
  etcd.lastWatch.accept()
  await clock.advance(300)
  t.equal(waiting.now(), 'at 9')
  t.same(contentsOf(await read(mirror, 'a')).entries, ['/r/a/1=other'])
})

t.test('a stream that is not read because much is to be applied is not taken for dead', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture()
  etcd.put({ '/r/a/1': 'the watch begins at a revision that etcd has' })
  await clock.advance(0)
  const turns: (() => void)[] = []
  clock.yield = () => new Promise(resolve => turns.push(resolve))
  etcd.put({ '/r/a/1': 'is applied at once' })
  await clock.advance(5)
  etcd.put({ '/r/a/1': 'waits for the next turn' })
  const answer = etcd.lastWatch.onProgressRequest
  etcd.lastWatch.onProgressRequest = () => {}
  const outcome = watchOutcome(read(mirror, 'a'))
  await clock.advance(2500)
  t.equal(outcome.now(), 'waiting')
  for (const turn of turns.splice(0)) turn()
  etcd.lastWatch.onProgressRequest = answer
  await clock.advance(200)
  t.equal(outcome.now(), 'at 4')
  t.equal(counts.get('reconnect silent'), undefined)
})

t.test('a stream on which nothing is heard is given up, and opened elsewhere', async t => {
  const etcd = new TinyEtcd()
  etcd.endpoints = ['one', 'two']
  const { mirror, clock, counts } = await createReadyFixture({ etcd })
  t.equal(etcd.lastWatch.endpoint, 'one')
  etcd.put({ '/r/a/1': 'the watch begins at a revision that etcd has' })
  etcd.lastWatch.onProgressRequest = () => {}
  await clock.advance(10_000)
  t.equal(counts.get('reconnect silent'), 1)
  t.equal(etcd.watches.length, 2)
  t.equal(etcd.lastWatch.endpoint, 'two')
  etcd.lastWatch.accept()
  await clock.advance(60_000)
  t.equal(etcd.watches.length, 2, 'one that answers is kept, however quiet')
  t.equal(mirror.statuses()[0]?.state, 'ready')
})

t.test('a member that stands still below what etcd is known to have is left', async t => {
  const etcd = new TinyEtcd()
  etcd.endpoints = ['one', 'two']
  const { mirror, clock, counts } = await createReadyFixture({ etcd })
  const stuck = etcd.revision
  etcd.lastWatch.onProgressRequest = () => etcd.lastWatch.progress(stuck)
  etcd.write({ '/r/a/1': 'x' })
  const first = watchOutcome(read(mirror, 'a'))
  await clock.advance(3000)
  t.equal(first.now(), 'overloaded', 'it says that progress has not come')
  await clock.advance(5000)
  t.equal(counts.get('reconnect behind'), 1)
  t.equal(etcd.lastWatch.endpoint, 'two')
  etcd.lastWatch.accept()
  t.equal(contentsOf(await read(mirror, 'a')).revision, 2)
})

t.test(
  'while etcd is away, the log says so twice a minute, and at once when the reason is another',
  async t => {
    const etcd = new TinyEtcd()
    let reason = 'nobody there'
    etcd.onRange = () => {
      throw new CacheError('source_failed', reason)
    }
    const said: unknown[] = []
    const warn = (_: string, fields?: LogFields): void => void said.push(fields?.['error'])
    const { mirror, clock } = createFixture({ etcd, mirror: { logger: { ...silentLogger, warn } } })
    mirror.start()
    for (let i = 0; i < 29; i++) await clock.advance(1000)
    t.strictSame(said, [reason])
    reason = 'refused'
    for (let i = 0; i < 20; i++) await clock.advance(1000)
    t.strictSame(said, ['nobody there', reason])
    for (let i = 0; i < 30; i++) await clock.advance(1000)
    t.strictSame(said, ['nobody there', reason, reason])
  },
)
