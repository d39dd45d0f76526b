import t from 'tap'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { type Revision } from '../../../lib/base/revision.ts'
import type { Change, Event } from '../../../lib/store/event.ts'
import type { AudienceSpec, Framed } from '../../../lib/store/watch/audience.ts'
import {
  after,
  beginsWith,
  CountingSink,
  frameOf,
  never,
  put,
  textOf,
  World,
} from '../../support/watch/hub-world.ts'

function nameOf(i: number): string {
  return `n${i % 4}/${String(i).padStart(5, '0')}`
}

/** Puts of so many keys in four folders, at one revision. */
function puts(count: number, at: number, value: (i: number) => string = () => 'x'): Change[] {
  return Array.from({ length: count }, (_, i) => put(nameOf(i), value(i), at))
}

function counting(world: { made: number }): AudienceSpec['frameOf'] {
  return (event, at) => {
    world.made++
    return frameOf(event, at)
  }
}

t.test('a large batch is encoded as it is sent, not again each time a sink has room', async t => {
  const events = 2_000
  const count = { made: 0 }
  const world = new World()
  const sink = new CountingSink(20)
  const watcher = world.watch(sink, { id: 'all', frameOf: counting(count) })
  world.hub.run(never)
  world.apply(1, ...puts(events, 1))
  t.equal(count.made, 0, 'nothing is made in the step that applies it')
  let rounds = 0
  while (sink.frames.length < events) {
    world.hub.run(never)
    t.equal(watcher.position, sink.frames.length < events ? 0 : 1)
    sink.room = 20
    world.hub.resume(watcher)
    rounds++
  }
  world.hub.run(never)
  t.equal(rounds, events / 20)
  t.equal(watcher.state, 'live')
  t.equal(new Set(sink.frames).size, events)
  t.ok(count.made < events + 100, `${count.made} frames were made for ${events}`)
})

t.test('a large batch is made once for all who follow each other, in slices', async t => {
  const count = { made: 0 }
  const world = new World()
  const sinks = Array.from({ length: 50 }, () => new CountingSink())
  for (const sink of sinks) world.watch(sink, { id: 'all', frameOf: counting(count) })
  world.hub.run(never)
  world.apply(1, ...puts(1_000, 1))
  world.hub.run(never)
  t.equal(count.made, 1_000)
  t.ok(sinks.every(sink => sink.frames.length === 1_000))
  world.apply(2, ...puts(1_000, 2))
  let slices = 0
  while (sinks.some(sink => sink.frames.length < 2_000)) {
    const before = sinks.reduce((sum, sink) => sum + sink.frames.length, 0)
    world.hub.run(after(10))
    const sent = sinks.reduce((sum, sink) => sum + sink.frames.length, 0) - before
    t.ok(sent <= 10 * 16, 'a step of a slice is short')
    slices++
  }
  t.ok(slices > 100)
})

t.test('who is not concerned by a large batch looks at none of it', async t => {
  const world = new World()
  const looked: string[] = []
  const noting = (id: string, wanted = ''): Partial<AudienceSpec> & { id: string } => ({
    id,
    frameOf: (event, at) => {
      looked.push(id)
      return textOf(event.after).startsWith(wanted) ? frameOf(event, at) : undefined
    },
  })
  const folder = new CountingSink()
  const few = new CountingSink()
  const none = new CountingSink()
  world.watch(folder, { ...noting('folder'), range: prefixRange(keyFromText('n1/')) })
  const watcher = world.watch(few, { ...noting('few', '7'), requires: beginsWith('7') })
  const other = world.watch(none, { ...noting('none', '9'), requires: beginsWith('9') })
  world.hub.run(never)
  world.apply(1, ...puts(800, 1, i => (i === 400 ? '7' : '1')))
  t.equal(other.position, 0, 'no bookmark says more than what is known')
  world.apply(2, put('later', '9', 2))
  t.strictSame(none.frames, [], 'what comes after it waits')
  world.hub.run(never)
  t.equal(looked.filter(id => id === 'folder').length, 200)
  const others = looked.filter(id => id !== 'folder')
  t.strictSame(others.sort(), ['few', 'few', 'none'], 'what came later is looked at by both')
  t.strictSame(few.frames, ['n0/00400@1=7'])
  t.strictSame(none.frames, ['later@2=9'])
  t.equal(folder.frames.length, 200)
  t.strictSame([watcher.state, other.state], ['live', 'live'])
})

t.test('an object that cannot be told ends a watch that has a part of its batch', async t => {
  const world = new World()
  const sink = new CountingSink()
  world.watch(sink, { id: 'all' })
  const early = new CountingSink()
  world.watch(early, {
    id: 'rest',
    frameOf: (event, at) => (textOf(event.after) === '!' ? frameOf(event, at) : undefined),
  })
  world.hub.run(never)
  world.apply(1, ...puts(100, 1, i => (i === 60 ? '!' : 'x')))
  world.hub.run(never)
  t.equal(sink.frames.length, 60)
  t.equal(early.frames.length, 0)
  t.strictSame([sink.inexactAt, sink.isCutOff], [1, true])
  t.strictSame([early.inexactAt, early.isCutOff], [1, false])
})

t.test('a large batch waits where an event cannot be told yet, and goes on there', async t => {
  let isKnown = false
  const world = new World()
  const sink = new CountingSink()
  const later = (event: Event, at: Revision): Framed =>
    !isKnown && event.key === nameOf(50) ? 'later' : frameOf(event, at)
  const watcher = world.watch(sink, { id: 'all', frameOf: later })
  world.hub.run(never)
  world.apply(1, ...puts(100, 1))
  world.hub.run(never)
  t.ok(watcher.isHeld)
  t.equal(sink.frames.length, 50)
  isKnown = true
  world.hub.resumeHeld()
  world.hub.run(never)
  t.equal(new Set(sink.frames).size, 100)
  t.equal(sink.frames.length, 100)
  t.equal(watcher.position, 1)
})

t.test('a watcher that has a part of a batch which the history drops has expired', async t => {
  const world = new World({ maxBatches: 2, maxAgeMs: 1e9, maxBytes: 1e9 })
  const sink = new CountingSink(30)
  const watcher = world.watch(sink, { id: 'all' })
  world.hub.run(never)
  world.apply(1, ...puts(100, 1))
  world.hub.run(never)
  t.equal(sink.frames.length, 30)
  for (let at = 2; at <= 4; at++) world.apply(at, put('a', 'x', at))
  sink.room = 1_000
  world.hub.resume(watcher)
  world.hub.run(never)
  t.equal(sink.expiredAt, 2)
  t.equal(sink.frames.length, 30)
})
