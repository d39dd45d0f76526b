/** The messages to a thread with copies. */

import t from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { OwnRevision } from '../../lib/etcd/own-revision.ts'
import { createCopies } from '../support/mirror/copies.ts'
import { TinyEtcd } from '../support/etcd/tiny-etcd.ts'
import {
  contentsOf,
  createReadyFixture,
  entriesOf,
  hold,
  nameOf,
} from '../support/mirror/mirror-builders.ts'

t.test('a value that is moved is moved in the copies, unless the entry has changed', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'one' })
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const { mirrorSide, copies, fed } = await createCopies(mirror, clock, nameOf)
  const key = keyFromText('/r/a/1')
  const [own, copy] = [mirror.keyspace('a'), copies.keyspace('a')].map(({ store }) =>
    store.latest().get(key),
  )
  t.equal(Buffer.from(copy!.value).toString(), 'one')
  const shared = Buffer.from(new SharedArrayBuffer(16))
  shared.write('xxone', 0)
  own!.move({ bytes: shared, start: 2, end: 5 })
  mirrorSide.moved(own!)
  await clock.advance(0)
  t.equal(copy!.bytes.buffer, shared.buffer, 'the copy has the same place')
  t.equal(Buffer.from(copy!.value).toString(), 'one')
  const entries = entriesOf(copies.keyspace('a').store.latest())
  own!.move({ bytes: Buffer.from('two'), start: 0, end: 3 })
  etcd.put({ '/r/a/1': 'new' })
  mirrorSide.moved(own!)
  await clock.advance(0)
  t.same(
    [entries, entriesOf(copies.keyspace('a').store.latest())],
    [['/r/a/1=one'], ['/r/a/1=new']],
  )
  fed.end()
})

t.test(
  'a large transaction reaches the copies whole, however often the feeder is held',
  async t => {
    const etcd = new TinyEtcd()
    etcd.write({ '/r/a/1': 'one' })
    const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
    const { mirrorSide, copies, fed } = await createCopies(mirror, clock, nameOf)
    const many = Array.from({ length: 1_000 }, (_, i) => [`/r/a/${1_000 + i}`, 'x'] as const)
    etcd.put(Object.fromEntries(many))
    await clock.advance(0)
    mirrorSide.applied('a')
    // It is told and read in slices, and the ring has room for a part of it.
    for (let turns = 0; turns < 20; turns++) await clock.advance(0)
    const [own, copy] = [mirror, copies].map(one => entriesOf(one.keyspace('a').store.latest()))
    t.equal(own?.length, 1_001)
    t.strictSame(copy, own)
    fed.end()
  },
)

t.test('a change of what is not mirrored is progress for the copies', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'one' })
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const { copies, fed } = await createCopies(mirror, clock, nameOf)
  etcd.put({ '/r/unknown/1': 'one' })
  const read = copies.read('a', { freshness: { type: 'consistent' }, elsewhere: 'nowhere' })
  await clock.advance(0)
  await clock.advance(0)
  t.equal(copies.waitingReads, 0)
  t.same(contentsOf(await read).entries, ['/r/a/1=one'])
  fed.end()
})

t.test('an etcd in this process is not asked for its revision', async t => {
  const ownRevision = new OwnRevision()
  const etcd = Object.assign(new TinyEtcd(), { ownRevision })
  etcd.write({ '/r/a/1': 'one' })
  ownRevision.set(etcd.revision)
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const { mirrorSide, copies, fed, answers } = await createCopies(mirror, clock, nameOf)
  const asked = etcd.ranges.length
  const options = { freshness: { type: 'consistent' }, elsewhere: 'nowhere' } as const
  const batch = etcd.write({ '/r/a/1': 'two' })
  for (const one of [mirror, copies]) {
    const read = one.read('a', options)
    if (read instanceof Promise) t.fail('a read waits for nothing')
    else t.same(contentsOf(read).entries, ['/r/a/1=one'], 'and is answered at once')
  }
  ownRevision.set(etcd.revision)
  etcd.lastWatch.onProgressRequest = () => {
    mirrorSide.applied('a')
    etcd.lastWatch.deliver([batch])
  }
  const late = [mirror, copies].map(async one => contentsOf(await one.read('a', options)).entries)
  await clock.advance(0)
  t.same(await Promise.all(late), [['/r/a/1=two'], ['/r/a/1=two']], 'or when it has what etcd has')
  t.equal(etcd.ranges.length, asked)
  t.notOk(answers.some(({ type }) => type === 'probed'))
  fed.end()
})

t.test('a question that etcd does not answer is over when no read waits for so long', async t => {
  const etcd = new TinyEtcd()
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const { fed, answers } = await createCopies(mirror, clock, nameOf)
  const release = hold(etcd)
  fed.ask({ type: 'probe', mirror: 0, id: 1 })
  await clock.advance(2000)
  fed.ask({ type: 'probe', mirror: 0, id: 2 })
  const over = (): number[] =>
    answers.flatMap(answer => (answer.type === 'probe-failed' && answer.isOver ? [answer.id] : []))
  await clock.advance(999)
  t.same(over(), [])
  await clock.advance(1)
  t.same(over(), [1])
  await clock.advance(2000)
  t.same(over(), [1, 2])
  release()
  await clock.advance(10_000)
  t.same(over(), [1, 2], 'each is over once')
  t.notOk(answers.some(({ type }) => type === 'probed'))
  fed.end()
})

t.test('a thread that has ended is told nothing more', async t => {
  const etcd = new TinyEtcd()
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const { fed, answers } = await createCopies(mirror, clock, nameOf)
  const release = hold(etcd)
  fed.ask({ type: 'probe', mirror: 0, id: 1 })
  fed.ask({ type: 'need', feed: 0, revision: 100 })
  const told = answers.length
  fed.end()
  release()
  await clock.advance(10_000)
  t.equal(answers.length, told)
})
