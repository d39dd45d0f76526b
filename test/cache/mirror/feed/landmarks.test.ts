/** An etcd that was restored from a backup behind our back, and whose revision and term have passed
 *  those that the mirror knows: only what it has changed tells. */

import t from 'tap'
import { keyFromText, type KeyRange, prefixRange } from '../../../../lib/base/keys.ts'
import type { TinyEtcd, TinyWatch } from '../../../support/etcd/tiny-etcd.ts'
import {
  contentsOf,
  createReadyFixture,
  type MirrorFixture,
  read,
  watchOutcome,
} from '../../../support/mirror/mirror-builders.ts'

/** A ready mirror of an etcd at revision 9, of which revision 5 is in the backup. */
async function beforeRestore(): Promise<MirrorFixture> {
  const fixture = await createReadyFixture()
  const { etcd } = fixture
  for (let at = 2; at <= 9; at++) etcd.put({ [`/r/a/${at % 4}`]: `${at}` })
  return fixture
}

function restorePast(etcd: TinyEtcd, last: number, writes: Record<string, string>): void {
  etcd.restoreTo(5)
  etcd.raftTerm++
  while (etcd.revision < last) etcd.write(writes)
}

async function reconnect({ etcd, clock }: MirrorFixture): Promise<void> {
  etcd.lastWatch.fail()
  await clock.advance(300)
  const stream = etcd.lastWatch
  stream.accept()
  // A new epoch ends the stream; the next one follows what was read again.
  await clock.advance(300)
  if (etcd.lastWatch !== stream) etcd.lastWatch.accept()
  await clock.advance(300)
}

t.test('an etcd with other changes at the known revisions has another history', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, counts, sink } = fixture
  restorePast(etcd, 20, { '/r/b/other': 'x' })
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.ok(sink.told.includes('reset a new epoch'))
  const { entries } = contentsOf(await read(mirror, 'a'))
  t.same(entries, ['/r/a/0=4', '/r/a/1=5', '/r/a/2=2', '/r/a/3=3'], 'as it was at revision 5')
})

t.test('the same key, revision and version with another value is another history', async t => {
  const fixture = await createReadyFixture()
  const { etcd, mirror, counts } = fixture
  for (let at = 2; at <= 9; at++) etcd.put({ '/r/a/only': `${at}` })
  restorePast(etcd, 20, { '/r/a/only': 'other' })
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.same(contentsOf(await read(mirror, 'a')).entries, ['/r/a/only=other'])
})

t.test('a key that was deleted and is there tells, too', async t => {
  const fixture = await createReadyFixture()
  const { etcd, mirror, counts } = fixture
  for (let at = 2; at <= 5; at++) etcd.put({ [`/r/a/${at}`]: 'x' })
  for (let at = 2; at <= 5; at++) etcd.put({ [`/r/a/${at}`]: undefined })
  restorePast(etcd, 20, { '/r/b/other': 'x' })
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.equal(contentsOf(await read(mirror, 'a')).entries.length, 4)
})

t.test('a key that was deleted before the contents were read, and is there, tells', async t => {
  const fixture = await createReadyFixture()
  const { etcd, mirror, counts, clock } = fixture
  for (let at = 2; at <= 5; at++) etcd.put({ [`/r/a/${at}`]: 'x' })
  // The mirror reads all again after the last deletion, so that no event has told of it.
  etcd.write({ '/r/a/5': undefined })
  etcd.compacted = etcd.revision
  etcd.lastWatch.fail('expired')
  await clock.advance(300)
  etcd.lastWatch.accept()
  await clock.advance(300)
  t.equal(mirror.proven('a'), 6)
  etcd.compacted = 0
  restorePast(etcd, 20, { '/r/b/other': 'x' })
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.equal(contentsOf(await read(mirror, 'a')).entries.length, 4)
})

t.test('changes where nothing changed are another history', async t => {
  const fixture = await createReadyFixture()
  const { etcd, mirror, counts } = fixture
  etcd.put({ '/r/a/1': 'x' })
  while (etcd.revision < 9) etcd.write({ '/elsewhere': 'x' })
  etcd.lastWatch.progress()
  t.equal(mirror.proven('a'), 9)
  restorePast(etcd, 7, { '/r/a/2': 'y' })
  while (etcd.revision < 20) etcd.write({ '/elsewhere': 'y' })
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.same(contentsOf(await read(mirror, 'a')).entries, ['/r/a/1=x', '/r/a/2=y'])
})

t.test('the newest change is not forgotten for older ones of a range that is behind', async t => {
  const [a, b] = ['a', 'b'].map(name => prefixRange(keyFromText(`/r/${name}/`))) as [
    KeyRange,
    KeyRange,
  ]
  const fixture = await createReadyFixture({ mirror: { ranges: [a, b] } })
  const { etcd, clock, counts } = fixture
  for (const watch of etcd.watches) if (watch !== etcd.lastWatch) watch.accept()
  await clock.advance(0)
  const watchOf = (range: KeyRange): TinyWatch =>
    etcd.watches.find(({ request }) => request.range.start === range.start)!
  const behind = [1, 2, 3].map(i => etcd.write({ [`/r/b/${i}`]: 'x' }))
  watchOf(a).deliver([etcd.write({ '/r/a/1': 'x' })])
  watchOf(b).deliver(behind)
  etcd.restoreTo(4)
  etcd.raftTerm++
  while (etcd.revision < 20) etcd.write({ '/elsewhere': 'x' })
  await probed(fixture)
  await clock.advance(300)
  t.equal(counts.get('newEpoch'), 1)
})

t.test('what a stream brought before etcd was restored is not taken for its history', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, counts, clock } = fixture
  etcd.connections = 1
  etcd.lastWatch.fail()
  await clock.advance(300)
  // The watch is opened and has a change; etcd is restored before it has told the landmarks.
  const stream = etcd.lastWatch
  etcd.onRange = () => {
    etcd.onRange = () => {}
    etcd.restoreTo(9)
    etcd.connections = 2
    etcd.write({ '/r/a/other': 'x' })
  }
  etcd.write({ '/r/a/lost': 'x' })
  stream.accept()
  await clock.advance(300)
  t.ok(stream.isCancelled)
  etcd.lastWatch.accept()
  await clock.advance(300)
  t.equal(counts.get('newEpoch'), undefined, 'nothing of the old history was shown')
  const { entries } = contentsOf(await read(mirror, 'a'))
  t.ok(entries.includes('/r/a/other=x') && !entries.includes('/r/a/lost=x'), entries.join(' '))
})

t.test('of compacted revisions the newest state of the keys tells', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, counts } = fixture
  // As of a stream that begins just above what is compacted.
  etcd.lastWatch.progress(9)
  restorePast(etcd, 20, { '/r/b/other': 'x' })
  etcd.compacted = 10
  await reconnect(fixture)
  t.equal(counts.get('newEpoch'), 1)
  t.equal(contentsOf(await read(mirror, 'b')).entries.length, 1)
})

t.test('an entry that is read again is kept only where its value is the same', async t => {
  const fixture = await createReadyFixture()
  const { etcd, mirror, clock } = fixture
  for (let at = 2; at <= 9; at++) etcd.put({ '/r/a/kept': '5', [`/r/a/${at}`]: 'x' })
  // The restored etcd deletes what would tell, and all of it is compacted.
  etcd.restoreTo(8)
  etcd.write({ '/r/a/kept': 'other' })
  for (let at = 7; at <= 9; at++) etcd.write({ [`/r/a/${at}`]: undefined })
  etcd.compacted = etcd.revision
  etcd.lastWatch.fail()
  await clock.advance(300)
  etcd.lastWatch.fail('expired')
  await clock.advance(300)
  etcd.lastWatch.accept()
  await clock.advance(300)
  const { entries } = contentsOf(await read(mirror, 'a'))
  t.ok(entries.includes('/r/a/kept=other'), entries.join(' '))
})

t.test('a new connection is not believed before the newest changes were asked for', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, clock } = fixture
  etcd.connections = 1
  t.equal(contentsOf(await read(mirror, 'a')).revision, 9, 'the first one is compared, too')
  restorePast(etcd, 9, { '/r/a/9': 'other' })
  etcd.connections = 2
  // Its stream is not known to be dead yet, and progress is at etcd's revision.
  const waiting = watchOutcome(read(mirror, 'a'))
  await clock.advance(0)
  t.equal(waiting.now(), 'waiting')
  await clock.advance(300)
  etcd.lastWatch.accept()
  await clock.advance(300)
  t.equal(waiting.now(), 'at 9')
  t.equal(contentsOf(await read(mirror, 'a')).entries.at(-1), '/r/a/9=other')
})

t.test('an etcd that was not restored is asked for a few keys, and goes on', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, counts, sink } = fixture
  etcd.put({ '/r/a/0': undefined })
  const asked = etcd.ranges.length
  etcd.compacted = 9
  etcd.write({ '/r/a/1': 'changed meanwhile' })
  await reconnect(fixture)
  t.notOk(counts.get('newEpoch'))
  t.notOk(sink.told.some(told => told.startsWith('reset')))
  t.ok(etcd.ranges.length - asked <= 12, `${etcd.ranges.length - asked} ranges`)
  t.match(contentsOf(await read(mirror, 'a')).entries, ['/r/a/1=changed meanwhile'])
})

t.test('a later term is another history as long as the newest changes do not agree', async t => {
  const fixture = await beforeRestore()
  const { etcd, mirror, counts, clock } = fixture
  const header = mirror.header
  etcd.raftTerm++
  await probed(fixture)
  t.equal(counts.get('newEpoch'), undefined, 'another leader has the same changes')
  t.equal(mirror.header.raftTerm, header.raftTerm + 1n)
  restorePast(etcd, 20, { '/r/b/other': 'x' })
  await probed(fixture)
  await clock.advance(300)
  t.equal(counts.get('newEpoch'), 1, 'although no stream has ended')
  t.equal(mirror.header.raftTerm, etcd.raftTerm)
})

async function probed({ mirror, clock }: MirrorFixture): Promise<void> {
  mirror.probe.ask({ isSettled: false, delayed: () => {}, probed: () => {} })
  await clock.advance(50)
}
