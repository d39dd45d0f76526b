import t from 'tap'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { MirrorSet } from '../../../lib/cache/mirror/mirror-set.ts'
import { rangesWithout } from '../../../lib/cache/mirror/feed/ranges.ts'
import { contentsOf, createFixture, keyspaceNamed } from '../../support/mirror/mirror-builders.ts'
import { TinyEtcd } from '../../support/etcd/tiny-etcd.ts'

const consistent = { freshness: { type: 'consistent' }, elsewhere: 'nowhere' } as const
const whole = prefixRange(keyFromText('/r/'))
const { range: events } = keyspaceNamed('events')
const { range: secrets } = keyspaceNamed('secrets')

t.test('events in another etcd, and secrets nowhere', async t => {
  const etcds = [new TinyEtcd(), new TinyEtcd()]
  const [main, other] = etcds as [TinyEtcd, TinyEtcd]
  for (let i = 0; i < 5; i++) main.write({ '/r/pods/1': `${i}`, '/r/secrets/1': 'hidden' })
  other.write({ '/r/events/1': 'x' })
  const ranges = [rangesWithout(whole, [events, secrets]), [events]]
  const fixtures = etcds.map((etcd, i) =>
    createFixture({ etcd, keyspaces: [], mirror: { ranges: ranges[i]! } }),
  )
  const set = new MirrorSet(fixtures.map(({ mirror }) => mirror))
  set.add(keyspaceNamed('pods'))
  set.add(keyspaceNamed('events'))
  t.throws(() => set.add(keyspaceNamed('secrets')), { code: 'invalid_request' })
  t.throws(() => set.add(keyspaceNamed('pods')), { code: 'invalid_request' })
  set.start()
  for (const { clock } of fixtures) await clock.advance(0)
  for (const etcd of etcds) for (const watch of etcd.watches) watch.accept()
  for (const { clock } of fixtures) await clock.advance(0)
  t.equal(main.watches.length, 3, 'a stream for each range between what is left out')
  t.notOk(main.ranges.some(({ range }) => range.start === '/r/secrets/'))
  t.same(contentsOf(await set.read('pods', consistent)), {
    revision: 6,
    entries: ['/r/pods/1=4'],
  })
  t.same(contentsOf(await set.read('events', consistent)), {
    revision: 2,
    entries: ['/r/events/1=x'],
  })
  t.same(
    set.statuses().map(({ name, state, revision }) => `${name} ${state} ${revision}`),
    ['pods ready 6', 'events ready 2'],
  )
  set.drop('events')
  t.notOk(set.has('events'))
  await t.rejects(Promise.resolve(set.read('events', consistent)), { code: 'not_found' })
  t.equal(set.waitingReads, 0)
  await set.stop()
})
