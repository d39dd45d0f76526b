import { silentLogger } from '../../support/silent-logger.ts'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import {
  contentsOf,
  createFixture,
  createReadyFixture,
  read,
  watchOutcome,
} from '../../support/mirror/mirror-builders.ts'
import { TinyEtcd } from '../../support/etcd/tiny-etcd.ts'

t.test('below 3.4.31 and 3.5.13, start-up says so, and progress marks prove nothing', async t => {
  const etcd = new TinyEtcd()
  etcd.version = '3.4.23'
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) }
  const { mirror, clock } = await createReadyFixture({ etcd, mirror: { logger } })
  t.match(warnings[0], /^safe mode/)
  t.equal(mirror.statuses()[0]?.trust, 'old version')
  t.equal(mirror.statuses()[0]?.state, 'ready')

  etcd.write({ '/r/a/1': 'x' })
  etcd.lastWatch.progress()
  const overtaken = watchOutcome(read(mirror, 'a'))
  const elsewhere = watchOutcome(read(mirror, 'a', { type: 'consistent' }, 'anywhere'))
  const exact = { type: 'exact', revision: revision(2) } as const
  const next = watchOutcome(read(mirror, 'a', exact, 'anywhere'))
  await clock.advance(50)
  t.equal(overtaken.now(), 'waiting', 'the mark came before the event')
  await clock.advance(50)
  t.equal(elsewhere.now(), 'progress-untrusted')
  t.equal(next.now(), 'progress-untrusted', 'nor can what that read answered be read again here')
  etcd.lastWatch.deliver(etcd.batches)
  await clock.advance(0)
  t.equal(overtaken.now(), 'at 2', 'the event of a known revision is proof')
  t.same(contentsOf(await read(mirror, 'a', { type: 'any' })).entries, ['/r/a/1=x'])
})

t.test('an old member among newer ones is enough', async t => {
  const etcd = new TinyEtcd()
  etcd.endpoints = ['one', 'two']
  const answer = etcd.status.bind(etcd)
  etcd.status = async () => {
    const [one, two] = await answer()
    return [one!, { ...two!, version: '3.5.12' }]
  }
  const { mirror } = await createReadyFixture({ etcd })
  t.equal(mirror.statuses()[0]?.trust, 'old version')
})

t.test('marks are not used before the version of their member is known', async t => {
  const etcd = new TinyEtcd()
  let isAnswering = false
  const answer = etcd.status.bind(etcd)
  etcd.status = async () => {
    if (!isAnswering) throw new Error('not yet')
    return answer()
  }
  const { mirror, clock } = await createReadyFixture({ etcd })
  etcd.write({ '/elsewhere': 'x' })
  const waiting = watchOutcome(read(mirror, 'a'))
  await clock.advance(300)
  t.equal(waiting.now(), 'waiting')
  t.equal(mirror.statuses()[0]?.trust, 'unknown')
  isAnswering = true
  await clock.advance(600)
  t.equal(waiting.now(), 'at 2')
  t.equal(mirror.statuses()[0]?.trust, 'trusted')
})

t.test('a version that was known is kept where its member does not say it again', async t => {
  const etcd = new TinyEtcd()
  const ranges = ['a', 'b'].map(name => prefixRange(keyFromText(`/r/${name}/`)))
  const { mirror, clock } = createFixture({ etcd, mirror: { ranges } })
  mirror.start()
  await clock.advance(0)
  const [stream, other] = etcd.watches
  // Another stream is opened before the first mark of this one, and asks again.
  etcd.status = async () => [{ endpoint: 'one', failure: new CacheError('source_failed', 'late') }]
  other?.fail()
  await clock.advance(300)
  t.equal(etcd.watches.length, 3)
  stream?.accept()
  etcd.write({ '/elsewhere': 'x' })
  const waiting = watchOutcome(read(mirror, 'a'))
  await clock.advance(300)
  t.equal(mirror.statuses()[0]?.trust, 'trusted')
  t.equal(waiting.now(), 'at 2')
})

t.test('no mark is overdue while the start of the watcher lies ahead of etcd', async t => {
  const etcd = new TinyEtcd()
  const { mirror, clock } = createFixture({ etcd })
  mirror.start()
  await clock.advance(0)
  etcd.lastWatch.sink.created(etcd.header)
  await clock.advance(20_000)
  t.equal(mirror.statuses()[0]?.trust, 'unknown')
  t.equal(mirror.statuses()[0]?.state, 'ready')
  t.equal(contentsOf(await read(mirror, 'a')).revision, 1, 'nothing has to be proven')
})

t.test('an etcd that never answers progress requests is found out', async t => {
  const etcd = new TinyEtcd()
  const { mirror, clock } = createFixture({ etcd })
  mirror.start()
  await clock.advance(0)
  etcd.write({ '/elsewhere': 'x' })
  etcd.lastWatch.sink.created(etcd.header)
  await clock.advance(2900)
  t.equal(mirror.statuses()[0]?.trust, 'unknown')
  await clock.advance(200)
  t.equal(mirror.statuses()[0]?.trust, 'unanswered')
  t.equal(mirror.statuses()[0]?.state, 'ready')
  const elsewhere = watchOutcome(read(mirror, 'a', { type: 'consistent' }, 'anywhere'))
  await clock.advance(100)
  t.equal(elsewhere.now(), 'progress-untrusted')
  await clock.advance(30_000)
  t.equal(etcd.watches.length, 1, 'it is not given up for being quiet')
  etcd.lastWatch.progress()
  await clock.advance(0)
  t.equal(mirror.statuses()[0]?.trust, 'trusted', 'one that answers late is trusted from then on')
  t.equal(contentsOf(await read(mirror, 'a')).revision, 2)
})

t.test('a watcher that has much to catch up with is not taken for one without answers', async t => {
  const etcd = new TinyEtcd()
  const { mirror, clock } = createFixture({ etcd })
  mirror.start()
  await clock.advance(0)
  etcd.lastWatch.sink.created(etcd.header)
  for (let i = 0; i < 10; i++) {
    etcd.put({ '/r/a/1': `${i}` })
    await clock.advance(1000)
  }
  t.equal(mirror.statuses()[0]?.trust, 'unknown')
  etcd.lastWatch.progress()
  t.equal(mirror.statuses()[0]?.trust, 'trusted')
})

t.test('versions are believed when nobody checks them', async t => {
  const etcd = new TinyEtcd()
  etcd.version = '3.4.23'
  const { mirror } = await createReadyFixture({ etcd, mirror: { isCheckingVersions: false } })
  t.equal(mirror.statuses()[0]?.trust, 'trusted')
  etcd.write({ '/r/a/1': 'x' })
  etcd.lastWatch.progress()
  t.equal(mirror.proven('a'), revision(2), 'as wrong as that is')
})
