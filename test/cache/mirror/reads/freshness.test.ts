import { setMaxListeners } from 'node:events'
import t from 'tap'
import { revision } from '../../../../lib/base/revision.ts'
import {
  contentsOf,
  createFixture,
  createReadyFixture,
  hold,
  read,
  watchOutcome,
} from '../../../support/mirror/mirror-builders.ts'
import { TinyEtcd } from '../../../support/etcd/tiny-etcd.ts'

const any = { type: 'any' } as const
const exact = (at: number) => ({ type: 'exact', revision: revision(at) }) as const
const notOlderThan = (at: number) => ({ type: 'not-older-than', revision: revision(at) }) as const

t.test('a consistent read waits for a write that etcd had when it came', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  etcd.lastWatch.onProgressRequest = () => {}
  const batch = etcd.write({ '/r/a/1': 'x' })
  const outcome = read(mirror, 'a')
  const watched = watchOutcome(outcome)
  await clock.advance(50)
  t.equal(watched.now(), 'waiting')
  etcd.lastWatch.deliver([batch])
  t.same(contentsOf(await outcome), { revision: 2, entries: ['/r/a/1=x'] })
})

t.test('a progress mark ends the wait of a read of a quiet keyspace', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const before = etcd.lastWatch.progressRequests
  etcd.write({ '/elsewhere': 'x' })
  t.equal(contentsOf(await read(mirror, 'a')).revision, 2)
  t.equal(etcd.lastWatch.progressRequests, before + 1, 'asked once, at once')
  await clock.advance(1000)
  t.equal(etcd.lastWatch.progressRequests, before + 1, 'and not again')
})

t.test('the header of a response with events proves nothing', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  etcd.lastWatch.onProgressRequest = () => {}
  const first = etcd.write({ '/r/a/1': 'x' })
  const second = etcd.write({ '/r/a/1': 'y' })
  const watched = watchOutcome(read(mirror, 'a'))
  etcd.lastWatch.deliver([first])
  await clock.advance(0)
  t.equal(watched.now(), 'waiting')
  etcd.lastWatch.deliver([second])
  await clock.advance(0)
  t.equal(watched.now(), 'at 3')
})

t.test('reads share the probe that begins after they came, never the one in flight', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const probesBefore = etcd.ranges.length
  let release = hold(etcd)
  const first = watchOutcome(read(mirror, 'a'))
  await clock.advance(0)
  const rest = Array.from({ length: 100 }, () => watchOutcome(read(mirror, 'b')))
  await clock.advance(0)
  t.equal(etcd.ranges.length - probesBefore, 1)
  const releaseSecond = release
  release = hold(etcd)
  releaseSecond()
  release = hold(etcd)
  await clock.advance(0)
  t.equal(first.now(), 'at 1')
  t.equal(etcd.ranges.length - probesBefore, 2, 'the next one is on its way, for all the others')
  t.ok(rest.every(one => one.now() === 'waiting'))
  etcd.write({ '/r/a/1': 'written while the second probe was on its way' })
  release()
  await clock.advance(100)
  t.ok(rest.every(one => one.now() === 'at 2'))
  t.equal(etcd.ranges.length - probesBefore, 2)
})

t.test('who was answered together is waited for, and asks together again', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const turns: (() => void)[] = []
  clock.yield = () => new Promise(resolve => turns.push(resolve))
  const turn = async (): Promise<void> => {
    for (const next of turns.splice(0)) next()
    await clock.advance(0)
  }
  const probesBefore = etcd.ranges.length
  const probes = (): number => etcd.ranges.length - probesBefore
  const release = hold(etcd)
  const alone = watchOutcome(read(mirror, 'a'))
  await clock.advance(0)
  const pair = ['a', 'b'].map(name => watchOutcome(read(mirror, name)))
  release()
  await clock.advance(0)
  t.strictSame([alone.now(), ...pair.map(one => one.now())], ['at 1', 'at 1', 'at 1'])
  t.equal(probes(), 2, 'nobody waits for one that was answered alone')
  const again = [watchOutcome(read(mirror, 'a'))]
  await turn()
  again.push(watchOutcome(read(mirror, 'b')))
  await clock.advance(0)
  t.strictSame([probes(), ...again.map(one => one.now())], [2, 'waiting', 'waiting'])
  await turn()
  t.strictSame([probes(), ...again.map(one => one.now())], [3, 'at 1', 'at 1'])
  const last = watchOutcome(read(mirror, 'a'))
  for (let i = 0; i < 4; i++) {
    t.equal(last.now(), 'waiting')
    await turn()
  }
  t.equal(last.now(), 'at 1', 'but not for long')
})

t.test('a second probe is sent when the first is late, and a third is not', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const probesBefore = etcd.ranges.length
  const releases = [hold(etcd)]
  const first = watchOutcome(read(mirror, 'a'))
  await clock.advance(5)
  releases.push(hold(etcd))
  const second = watchOutcome(read(mirror, 'b'))
  await clock.advance(5)
  t.equal(etcd.ranges.length - probesBefore, 2)
  const third = watchOutcome(read(mirror, 'b'))
  await clock.advance(5)
  t.equal(etcd.ranges.length - probesBefore, 2, 'two are enough')
  releases[1]?.()
  await clock.advance(0)
  t.strictSame([first.now(), second.now()], ['waiting', 'at 1'], 'answers may overtake each other')
  await clock.advance(0)
  t.equal(third.now(), 'at 1', 'the next one begins when one is answered')
  releases[0]?.()
  await clock.advance(0)
  t.equal(first.now(), 'at 1')
})

t.test('progress is asked for again with growing pauses until it is enough', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const asked: number[] = []
  const startMs = clock.monotonicMs()
  const stale = etcd.revision
  etcd.write({ '/elsewhere': 'x' })
  etcd.lastWatch.onProgressRequest = () => {
    asked.push(clock.monotonicMs() - startMs)
    etcd.lastWatch.progress(asked.length < 6 ? stale : undefined)
  }
  const watched = watchOutcome(read(mirror, 'a'))
  await clock.advance(300)
  t.same(asked, [0, 5, 15, 35, 75, 155])
  t.equal(watched.now(), 'at 2')
})

t.test('reads are woken in the order of their revisions, then of their coming', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  etcd.lastWatch.onProgressRequest = () => {}
  const woken: string[] = []
  for (const [name, at] of [
    ['late', 4],
    ['first', 2],
    ['second', 2],
    ['middle', 3],
  ] as const) {
    void read(mirror, 'a', notOlderThan(at)).then(() => woken.push(name))
  }
  etcd.put({ '/r/a/1': 'x' })
  await clock.advance(0)
  t.same(woken, ['first', 'second'])
  etcd.write({ '/elsewhere': 'x' })
  etcd.write({ '/elsewhere': 'y' })
  etcd.lastWatch.progress()
  await clock.advance(0)
  t.same(woken, ['first', 'second', 'middle', 'late'])
})

t.test('a consistent read without progress is refused in time, to be tried again', async t => {
  const { etcd, mirror, clock } = await createReadyFixture({ limits: { behindMaxMs: 60_000 } })
  const stale = etcd.revision
  etcd.lastWatch.onProgressRequest = () => etcd.lastWatch.progress(stale)
  etcd.write({ '/elsewhere': 'x' })
  const outcome = read(mirror, 'a', { type: 'consistent' }, 'anywhere')
  const watched = watchOutcome(outcome)
  await clock.advance(2999)
  t.equal(watched.now(), 'waiting', 'and not sent to etcd, though it could be')
  await clock.advance(1)
  await t.rejects(outcome, { code: 'overloaded', details: { retryAfterMs: 1000 } })
})

t.test('a consistent read without an answer of etcd fails in time with the reason', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  hold(etcd)
  const outcome = read(mirror, 'a')
  outcome.catch(() => {})
  await clock.advance(3000)
  await t.rejects(outcome, { code: 'source_failed', details: { retryAfterMs: 1000 } })
})

t.test(
  'a probe that etcd does not answer in time is put again, and later ones have their full time',
  async t => {
    const { etcd, mirror, clock } = await createReadyFixture({ limits: { unaskedMaxMs: 60_000 } })
    const probesBefore = etcd.ranges.length
    const probes = (): number => etcd.ranges.length - probesBefore
    const answered = watchOutcome(read(mirror, 'a'))
    await clock.advance(1000)
    t.equal(answered.now(), 'at 1')
    const release = hold(etcd)
    const late = watchOutcome(read(mirror, 'a'))
    await clock.advance(1099)
    t.equal(probes(), 2, 'its time is its own')
    release()
    hold(etcd)
    await clock.advance(0)
    etcd.held = undefined
    t.equal(late.now(), 'at 1')
    const releaseLast = hold(etcd)
    const again = watchOutcome(read(mirror, 'a'))
    await clock.advance(1100)
    t.strictSame([again.now(), probes()], ['waiting', 3])
    releaseLast()
    await clock.advance(1000)
    t.strictSame([again.now(), probes()], ['at 1', 4])
    const next = watchOutcome(read(mirror, 'a'))
    await clock.advance(0)
    t.strictSame([next.now(), probes()], ['at 1', 5])
  },
)

t.test('a revision that is not there yet is waited for, then refused with the latest', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  for (const freshness of [notOlderThan(3), exact(3)]) {
    const outcome = read(mirror, 'a', freshness)
    outcome.catch(() => {})
    const watched = watchOutcome(outcome)
    await clock.advance(2900)
    t.equal(watched.now(), 'waiting')
    await clock.advance(100)
    await t.rejects(outcome, { code: 'future_revision', details: { latest: 1 } })
  }
  const inTime = watchOutcome(read(mirror, 'a', notOlderThan(2)))
  await clock.advance(1000)
  etcd.write({ '/elsewhere': 'x' })
  await clock.advance(200)
  t.equal(inTime.now(), 'at 2')
})

t.test('an exact read gets the contents at its revision', async t => {
  const { etcd, mirror } = await createReadyFixture()
  etcd.put({ '/r/a/1': 'x' })
  etcd.put({ '/r/b/1': 'z' })
  etcd.put({ '/r/a/1': 'y' })
  t.same(contentsOf(await read(mirror, 'a', exact(2))).entries, ['/r/a/1=x'])
  t.same(contentsOf(await read(mirror, 'a', exact(3))), { revision: 3, entries: ['/r/a/1=x'] })
  t.same(contentsOf(await read(mirror, 'a', exact(4))).entries, ['/r/a/1=y'])
})

t.test('a revision older than the history is for etcd, unless nobody may ask it', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'x' })
  etcd.write({ '/r/a/1': 'y' })
  const { mirror } = await createReadyFixture({ etcd })
  const outcome = await read(mirror, 'a', exact(2), 'anywhere')
  t.same(outcome, { from: 'elsewhere', reason: 'revision-not-kept' })
  await t.rejects(read(mirror, 'a', exact(2)), { code: 'expired', details: { oldest: 3 } })
})

t.test('reads wait until the mirror is ready, but not longer than their limit', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'x' })
  const release = hold(etcd)
  const { mirror, clock } = createFixture({ etcd })
  mirror.start()
  const elsewhere = watchOutcome(read(mirror, 'a', any, 'anywhere'))
  const refused = watchOutcome(read(mirror, 'a', any))
  await clock.advance(3000)
  t.same([elsewhere.now(), refused.now()], ['not-ready', 'not_ready'])
  const patient = watchOutcome(read(mirror, 'a', any))
  await clock.advance(1000)
  release()
  await clock.advance(0)
  t.equal(patient.now(), 'at 2')
})

t.test('a read of any state is answered while cut off, and counted as stale', async t => {
  const { etcd, mirror, clock, counts } = await createReadyFixture()
  etcd.lastWatch.fail()
  await clock.advance(0)
  const outcome = await read(mirror, 'a', any)
  t.match(outcome, { from: 'mirror', isStale: true })
  t.equal(counts.get('staleRead'), 1)
  const consistent = await read(mirror, 'a')
  t.match(consistent, { from: 'mirror', isStale: false }, 'nothing was written: it is consistent')
  etcd.write({ '/r/a/1': 'x' })
  const behind = watchOutcome(read(mirror, 'a'))
  await clock.advance(3000)
  t.equal(behind.now(), 'overloaded')
})

t.test('a read that is given up by its caller does not stay behind', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  const giveUp = new AbortController()
  setMaxListeners(0, giveUp.signal)
  const freshness = notOlderThan(100)
  const outcomes = Array.from({ length: 500 }, () =>
    Promise.resolve(mirror.read('a', { freshness, elsewhere: 'nowhere', reader: giveUp })),
  )
  for (const outcome of outcomes) outcome.catch(() => {})
  await clock.advance(10)
  t.equal(mirror.waitingReads, 500)
  giveUp.abort()
  await t.rejects(outcomes[0]!, { code: 'closed' })
  t.equal(mirror.waitingReads, 0)
  const asked = etcd.lastWatch.progressRequests
  await clock.advance(2000)
  t.ok(etcd.lastWatch.progressRequests <= asked + 1, 'nobody asks for progress any more')
})

t.test('more reads than may wait are refused at once', async t => {
  const { mirror } = await createReadyFixture({ limits: { waitingReadsMax: 2 } })
  const waiting = [1, 2].map(() => watchOutcome(read(mirror, 'a', notOlderThan(9))))
  await t.rejects(read(mirror, 'a', notOlderThan(9)), { code: 'overloaded' })
  t.ok(waiting.every(one => one.now() === 'waiting'))
  t.equal(contentsOf(await read(mirror, 'a', any)).revision, 1, 'what need not wait is answered')
})

t.test('reads of a keyspace that is dropped, or of none, are refused', async t => {
  const { mirror } = await createReadyFixture()
  const waiting = read(mirror, 'a', notOlderThan(9))
  mirror.drop('a')
  await t.rejects(waiting, { code: 'not_found' })
  await t.rejects(read(mirror, 'a', any), { code: 'not_found' })
})

t.test('a stopped mirror lets go of everything', async t => {
  const { mirror, etcd, clock } = await createReadyFixture()
  const waiting = read(mirror, 'a', notOlderThan(9))
  waiting.catch(() => {})
  await mirror.stop()
  await t.rejects(waiting, { code: 'closed' })
  await t.rejects(read(mirror, 'a', any), { code: 'closed' })
  t.ok(etcd.watches.every(watch => watch.isCancelled))
  t.equal(clock.pendingTimers, 0)
})
