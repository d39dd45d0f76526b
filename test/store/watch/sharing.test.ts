import t from 'tap'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import { type Event } from '../../../lib/store/event.ts'
import type { Framed, AudienceSpec } from '../../../lib/store/watch/audience.ts'
import type { Watcher } from '../../../lib/store/watch/watcher.ts'
import { collector } from '../../support/program/collector.ts'
import {
  roomy,
  put,
  frameOf,
  spec,
  CountingSink,
  World,
  never,
} from '../../support/watch/hub-world.ts'

t.test('watchers of one audience share their frames', async t => {
  const world = new World()
  let encoded = 0
  const counting = (event: Event, at: Revision): Framed => {
    encoded++
    return frameOf(event, at)
  }
  const sinks = [new CountingSink(), new CountingSink(), new CountingSink()]
  for (const sink of sinks) world.watch(sink, { id: 'all', frameOf: counting })
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  t.equal(encoded, 1)
  t.strictSame(
    sinks.map(sink => sink.frames),
    [['a@1=1'], ['a@1=1'], ['a@1=1']],
  )
})

t.test('a frame that nobody else can need is known as such', async t => {
  const world = new World()
  const seen: string[] = []
  const noting = (id: string): AudienceSpec => ({
    ...spec({ id }),
    frameOf: (event, at, need) => {
      seen.push(`${id} ${event.key} ${need === 'alone' ? 'alone' : 'shared'}`)
      return frameOf(event, at)
    },
  })
  const watch = (id: string, key: string): Watcher => {
    const part = { ...noting(id), range: singleKey(keyFromText(key)) }
    return world.hub.add(part, world.keyspace.revision, new CountingSink())
  }
  watch('1', 'a')
  const other = watch('2', 'b')
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  world.apply(2, put('a', '1', 2), put('b', '1', 2))
  t.strictSame(seen, ['1 a alone', '1 a alone', '2 b alone'])
  watch('1', 'a')
  world.hub.run(never)
  world.apply(3, put('a', '1', 3))
  t.strictSame(seen.slice(3), ['1 a shared'], 'two of one audience')
  watch('3', 'b')
  world.hub.run(never)
  world.apply(4, put('b', '1', 4))
  t.strictSame(seen.slice(4), ['2 b shared', '3 b shared'], 'two audiences')
  t.equal(other.state, 'live')
})

t.test('nothing is encoded for watchers who lag until they come to it', async t => {
  const world = new World()
  let encoded = 0
  const sink = new CountingSink(1)
  const watcher = world.watch(sink, {
    id: 'all',
    frameOf: (event, at) => {
      encoded++
      return frameOf(event, at)
    },
  })
  world.hub.run(never)
  for (let at = 1; at <= 3; at++) world.apply(at, put('a', String(at), at))
  t.equal(watcher.state, 'lagging')
  t.equal(encoded, 1)
  sink.room = Infinity
  world.hub.resume(watcher)
  world.hub.run(never)
  t.strictSame(sink.frames, ['a@1=1', 'a@2=2', 'a@3=3'])
  t.equal(encoded, 3)
})

t.test('a watcher that is told nothing more holds none of what it was told', async t => {
  const collect = collector()
  const world = new World({ ...roomy, maxBatches: 1 })
  const quiet = world.watch(new CountingSink(), { id: 'a', range: singleKey(keyFromText('a')) })
  const late = world.watch(new CountingSink(), { id: 'b', range: singleKey(keyFromText('b')) })
  world.hub.run(never)
  world.apply(1, put('a', '1', 1))
  world.apply(2, put('b', '1', 2))
  const told = new WeakRef(world.keyspace.at(revision(2)))
  for (let at = 3; at <= 5; at++) world.apply(at, put('c', '1', at))
  // What a WeakRef was asked for stays until the turn is over, and so may what V8 has compiled.
  for (let i = 0; i < 20 && told.deref() !== undefined; i++) {
    await new Promise(setImmediate)
    collect()
  }
  t.equal(told.deref(), undefined)
  t.equal(quiet.state, 'live')
  t.equal(late.state, 'live')
})
