import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { Event } from '../../../lib/store/event.ts'
import { FrameCache } from '../../../lib/store/watch/frame-cache.ts'

function event(name: string): Event {
  return { key: keyFromText(name), before: undefined, after: undefined } as unknown as Event
}

t.test('a frame is kept for its event and its form', async t => {
  const cache = new FrameCache({ leastBytes: 10_000, mostBytes: 80_000 })
  const [a, b] = [event('a'), event('b')]
  const frame = Buffer.from('x')
  cache.set(a, 'json', frame)
  t.equal(cache.get(a, 'json'), frame)
  t.equal(cache.get(a, 'protobuf'), undefined)
  t.equal(cache.get(b, 'json'), undefined)
  const other = Buffer.from('y')
  cache.set(a, 'protobuf', other)
  t.equal(cache.get(a, 'protobuf'), other)
  t.equal(cache.get(a, 'json'), frame)
})

t.test('frames of the oldest events go when the bytes are too many', async t => {
  const cache = new FrameCache({ leastBytes: 10_000, mostBytes: 80_000 })
  const events = Array.from({ length: 100 }, (_, i) => event(String(i)))
  for (const one of events) {
    cache.set(one, 'json', Buffer.alloc(500))
    cache.set(one, 'protobuf', Buffer.alloc(500))
    t.ok(cache.bytes <= 10_000)
  }
  const kept = events.filter(one => cache.get(one, 'json') !== undefined)
  t.strictSame(kept, events.slice(-kept.length))
  t.ok(kept.length >= 5)
  const { bytes } = cache
  cache.set(event('large'), 'json', Buffer.alloc(20_000))
  t.equal(cache.bytes, bytes, 'what is too large is not kept, and takes no room from others')
})

/** Makes a thousand frames of half a kilobyte one after another, for watchers that are behind or
 *  are not; returns how many of them are kept. */
function fill(cache: FrameCache, isBehind: boolean): number {
  const events = Array.from({ length: 1000 }, (_, i) => event(String(i)))
  for (const one of events) cache.set(one, 'json', Buffer.alloc(500), isBehind)
  return events.filter(one => cache.get(one, 'json') !== undefined).length
}

t.test('more is kept while some are behind, and no more than there is room for', async t => {
  const cache = new FrameCache({ leastBytes: 10_000, mostBytes: 80_000 })
  t.ok(fill(cache, false) <= 14)
  t.ok(fill(cache, true) >= 57, 'eight times as much')
  t.ok(cache.bytes <= 80_000)
  t.ok(fill(cache, false) <= 14, 'and little again')
})

t.test('a large frame that is made for one after the other finds room', async t => {
  const cache = new FrameCache({ leastBytes: 10_000, mostBytes: 80_000 })
  const [large, larger] = [event('large'), event('larger')]
  for (let i = 0; i < 5; i++) cache.set(large, 'json', Buffer.alloc(30_000), i > 0)
  t.not(cache.get(large, 'json'), undefined)
  for (let i = 0; i < 5; i++) cache.set(larger, 'json', Buffer.alloc(50_000), true)
  t.equal(cache.get(larger, 'json'), undefined, 'more than half of the most')
})
