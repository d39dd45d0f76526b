import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { keyFromText, prefixRange, singleKey, type Key } from '../../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import { type Change, type Event } from '../../../lib/store/event.ts'
import type { Framed, AudienceSpec } from '../../../lib/store/watch/audience.ts'
import type { Watcher } from '../../../lib/store/watch/watcher.ts'
import {
  roomy,
  beginsWith,
  textOf,
  put,
  frameOf,
  spec,
  CountingSink,
  World,
  never,
  after,
} from '../../support/watch/hub-world.ts'

t.test('a watcher is sent what comes after its position, and then what comes', async t => {
  const world = new World()
  world.apply(1, put('a', '1', 1))
  world.apply(2, put('b', '2', 2))
  const sink = new CountingSink()
  const watcher = world.watch(sink, { id: 'all' }, 1)
  t.equal(watcher.state, 'lagging')
  t.equal(world.work, 1)
  world.hub.run(never)
  t.equal(watcher.state, 'live')
  world.apply(5, put('a', '5', 5), { type: 'delete', key: keyFromText('b') })
  t.strictSame(sink.frames, ['b@2=2', 'a@5=5', 'b@5='])
  t.equal(watcher.position, 5)
})

t.test('an event is offered only to audiences that it may concern', async t => {
  const world = new World()
  const offered: string[] = []
  const noting = (id: string): AudienceSpec => ({
    ...spec({ id }),
    frameOf: event => {
      offered.push(`${id}:${event.key}`)
      return undefined
    },
  })
  const watch = (part: Partial<AudienceSpec> & { id: string }): Watcher =>
    world.hub.add({ ...noting(part.id), ...part }, revision(0), new CountingSink())
  watch({ id: 'x', requires: beginsWith('x') })
  watch({ id: 'y', requires: beginsWith('y') })
  watch({ id: 'key a', range: singleKey(keyFromText('a')) })
  watch({ id: 'prefix b', range: prefixRange(keyFromText('b')) })
  watch({ id: 'folder f/', range: prefixRange(keyFromText('f/')) })
  watch({ id: 'folder f/g/', range: prefixRange(keyFromText('f/g/')) })
  watch({ id: 'x in f/g/', range: prefixRange(keyFromText('f/g/')), requires: beginsWith('x') })
  world.hub.run(never)
  world.apply(1, put('a', 'x', 1))
  world.apply(2, put('b1', 'y', 2))
  world.apply(3, put('b1', 'x', 3))
  world.apply(4, put('f/1', 'z', 4), put('f/g/2', 'z', 4))
  world.apply(5, put('f/g/2', 'x', 5))
  t.strictSame(
    offered.sort((a, b) => (a < b ? -1 : 1)),
    [
      'folder f/:f/1',
      'folder f/:f/g/2',
      'folder f/:f/g/2',
      'folder f/g/:f/g/2',
      'folder f/g/:f/g/2',
      'key a:a',
      'prefix b:b1',
      'prefix b:b1',
      'x in f/g/:f/g/2',
      'x:a',
      'x:b1',
      'x:f/g/2',
      'y:b1',
      'y:b1',
    ],
  )
})

t.test('a slow watcher is a position, and catches up when it can', async t => {
  const world = new World()
  const sink = new CountingSink(2)
  const watcher = world.watch(sink, { id: 'all' })
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  world.apply(2, put('b', '2', 2), put('c', '2', 2))
  t.equal(watcher.state, 'lagging')
  t.equal(watcher.position, 1)
  world.apply(3, put('d', '3', 3))
  sink.room = 10
  world.hub.resume(watcher)
  world.hub.run(never)
  t.strictSame(sink.frames, ['a@1=1', 'b@2=2', 'c@2=2', 'd@3=3'])
  t.equal(watcher.state, 'live')
})

t.test('a watcher that falls out of the history is told so, and gets no more', async t => {
  const world = new World({ ...roomy, maxBatches: 2 })
  const sink = new CountingSink(1)
  const watcher = world.watch(sink, { id: 'all' })
  world.hub.run(never)
  for (let at = 1; at <= 5; at++) world.apply(at, put('a', String(at), at))
  sink.room = 10
  world.hub.resume(watcher)
  world.hub.run(never)
  t.equal(sink.expiredAt, 3)
  t.strictSame(sink.frames, ['a@1=1'])
  t.equal(watcher.state, 'ended')
  t.throws(() => world.watch(new CountingSink(), { id: 'other' }, 2), {
    code: 'expired',
    details: { oldest: 3 },
  })
})

t.test('a batch that cannot be told exactly ends the watch before it', async t => {
  const world = new World()
  const sink = new CountingSink()
  const watcher = world.watch(sink, { id: 'all' })
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  world.apply(2, put('b', '2', 2), put('c', '!', 2))
  world.apply(3, put('d', '3', 3))
  t.strictSame(sink.frames, ['a@1=1'])
  t.equal(sink.inexactAt, 2)
  t.equal(watcher.state, 'ended')
})

t.test(
  'a watcher that begins beyond the history is sent what comes after its position',
  async t => {
    const world = new World()
    world.apply(1, put('a', '1', 1))
    const sink = new CountingSink()
    const watcher = world.watch(sink, { id: 'all' }, 3)
    world.hub.run(never)
    for (let at = 2; at <= 4; at++) world.apply(at, put('a', String(at), at))
    t.strictSame(sink.frames, ['a@4=4'])
    t.equal(watcher.position, 4)
  },
)

t.test('when the history is replaced, every position expires', async t => {
  const world = new World()
  const sinks = [new CountingSink(), new CountingSink(1)]
  for (const sink of sinks) world.watch(sink, { id: 'all' })
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  world.keyspace.restore([], revision(9))
  world.hub.expireAll()
  t.strictSame(
    sinks.map(sink => sink.expiredAt),
    [9, 9],
  )
  t.equal(world.hub.size, 0)
})

t.test('a deleted watcher leaves nothing behind', async t => {
  const world = new World()
  const sink = new CountingSink()
  const watcher = world.watch(sink, { id: 'all' })
  t.equal(world.hub.size, 1)
  world.hub.delete(watcher)
  world.hub.delete(watcher)
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  t.equal(world.hub.size, 0)
  t.strictSame(sink.frames, [])
})

t.test('catching up is done in slices, in turns', async t => {
  const world = new World()
  for (let at = 1; at <= 300; at++) world.apply(at, put('a', String(at), at))
  const sinks = [new CountingSink(), new CountingSink(), new CountingSink()]
  for (const sink of sinks) world.watch(sink, { id: 'all' })
  const counts = (): number[] => sinks.map(sink => sink.frames.length)
  world.hub.run(after(3))
  const [share = 0] = counts()
  t.ok(share > 0 && share < 100)
  t.strictSame(counts(), [share, share, share])
  world.hub.run(after(1))
  t.strictSame(counts(), [2 * share, share, share])
  while (counts().some(count => count < 300)) {
    const before = world.work
    world.hub.run(after(2))
    t.ok(world.work > before || counts().every(count => count === 300))
  }
})

t.test('an event is offered to few audiences in one step, however many there are', async t => {
  const world = new World()
  let offered = 0
  const counted: AudienceSpec['frameOf'] = (event, at) => {
    offered++
    return frameOf(event, at)
  }
  const sinks = Array.from({ length: 2_000 }, (_, i) => {
    const sink = new CountingSink()
    world.watch(sink, { id: String(i), frameOf: counted })
    return sink
  })
  world.hub.run(never)
  world.apply(1, put('a', 'one', 1), put('b', 'one', 1))
  t.ok(offered > 0 && offered <= 256, `${offered} at once`)
  const before = offered
  world.apply(2, put('a', 'two', 2))
  t.ok(offered - before <= 256, `${offered - before} at once`)
  for (let at = offered; offered < 2_000 * 3; at = offered) {
    world.hub.run(after(1))
    t.ok(offered - at <= 3)
    if (offered === at) break
  }
  for (const { frames } of sinks) {
    if (frames.join() !== 'a@1=one,b@1=one,a@2=two') t.fail(frames.join())
  }
  t.equal(offered, 2_000 * 3, 'each event once for each audience')
})

t.test('nobody waits for those who have far to go', async t => {
  const world = new World()
  for (let at = 1; at <= 300; at++) world.apply(at, put('a', String(at), at))
  world.watch(new CountingSink(), { id: 'all' })
  const late = new CountingSink()
  world.watch(late, { id: 'all' }, 299)
  world.hub.run(after(2))
  t.strictSame(late.frames, ['a@300=300'])
})

t.test('whatever happens, each watcher gets what its selection has, once and in order', async t => {
  const seeds = fc.integer({ min: 0, max: 2 ** 31 })
  fc.assert(fc.property(seeds, checkRandomWorld), { numRuns: 300 })
  t.pass()
})

/** Random batches, sinks that fill up and empty, watchers that come at random positions. */
function checkRandomWorld(seed: number): void {
  const random = createRandom(seed)
  const world = new World()
  const some = ['a', 'b', 'b1', 'b2', 'c', 'd', 'd/1', 'd/2/3', 'd0']
  // Enough for batches that are looked through in slices.
  const many = Array.from({ length: 40 }, (_, i) => `${i % 2 === 0 ? 'b' : 'd/'}x${i}`)
  const keys = [...some, ...many]
  const specs: (Partial<AudienceSpec> & { id: string; wants: (event: Event) => boolean })[] = [
    { id: 'all', wants: () => true },
    {
      id: 'key',
      range: singleKey(keyFromText('b')),
      wants: event => event.key === keyFromText('b'),
    },
    {
      id: 'prefix',
      range: prefixRange(keyFromText('b')),
      wants: event => event.key.startsWith('b'),
    },
    {
      id: 'folder',
      range: prefixRange(keyFromText('d/')),
      wants: event => event.key.startsWith('d/'),
    },
    {
      id: 'term',
      requires: beginsWith('1'),
      wants: event => [event.before, event.after].some(entry => textOf(entry).startsWith('1')),
    },
  ]
  const watched: {
    sink: CountingSink
    watcher: Watcher
    from: number
    wants: (event: Event) => boolean
  }[] = []
  for (let at = 1; at <= 60; at++) {
    const present = new Set(
      keys.filter(key => world.keyspace.latest().get(key as Key) !== undefined),
    )
    const chosen = (random.next() < 0.2 ? keys : some).filter(() => random.next() < 0.4)
    const changes = chosen.map((key): Change =>
      present.has(key) && random.next() < 0.3
        ? { type: 'delete', key: keyFromText(key) }
        : put(key, String(randomInt(random, 0, 3)), at),
    )
    if (changes.length > 0) world.apply(at, ...changes)
    else world.keyspace.advance(revision(at), at)
    if (random.next() < 0.15) {
      const { wants, ...part } = specs[randomInt(random, 0, specs.length - 1)]!
      const framed = (event: Event, rev: Revision): Framed =>
        wants(event) ? frameOf(event, rev) : undefined
      const sink = new CountingSink(randomInt(random, 1, 4))
      const from = randomInt(random, 0, at)
      watched.push({
        sink,
        from,
        wants,
        watcher: world.watch(sink, { ...part, frameOf: framed }, from),
      })
    }
    for (const { sink, watcher } of watched) {
      if (random.next() < 0.3 && sink.room === 0) {
        sink.room = randomInt(random, 1, 5)
        world.hub.resume(watcher)
      }
    }
    if (random.next() < 0.5) world.hub.run(after(randomInt(random, 0, 20)))
  }
  for (const { sink, watcher } of watched) {
    sink.room = Infinity
    world.hub.resume(watcher)
  }
  world.hub.run(never)
  for (const { sink, watcher, from, wants } of watched) {
    const batches = [
      ...(world.keyspace.since(revision(from)) as Iterable<{
        revision: Revision
        events: Event[]
      }>),
    ]
    const expected = batches.flatMap(batch =>
      batch.events
        .filter(wants)
        .map(event => Buffer.from(frameOf(event, batch.revision) as Uint8Array).toString()),
    )
    assert.deepEqual(sink.frames, expected, `seed ${seed}`)
    assert.equal(watcher.state, 'live', `seed ${seed}`)
  }
}
