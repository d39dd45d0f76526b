import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { Event } from '../../../lib/store/event.ts'
import { FrameCache } from '../../../lib/watch/frame-cache.ts'

function event(name: string): Event {
  return { key: keyFromText(name), before: undefined, after: undefined } as unknown as Event
}

t.test('a frame is kept for its event and its form', async t => {
  const cache = new FrameCache(10_000)
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
  const cache = new FrameCache(10_000)
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
