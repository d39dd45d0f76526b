/** When clients over HTTP/2 are pinged, and which are given up. */

import t from 'tap'
import { Bag } from '../../../../../lib/base/bag.ts'
import {
  type PingedConnection,
  pingRounds,
} from '../../../../../lib/cache/http/server/http2/pings.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'

class Pinged implements PingedConnection {
  isListening = true
  silentSeconds = 0
  pings = 0
  isDestroyed = false

  ping(): void {
    this.pings++
  }

  destroy(): void {
    this.isDestroyed = true
  }
}

function begin(): { clock: FakeClock; connections: Bag<PingedConnection>; one: Pinged } {
  const clock = new FakeClock()
  const connections = new Bag<PingedConnection>()
  const one = new Pinged()
  connections.add(one)
  pingRounds(clock, connections, { intervalSeconds: 30, timeoutSeconds: 60 }).wake()
  return { clock, connections, one }
}

t.test('a silent client is pinged once, and given up after the timeout', async t => {
  const { clock, one } = begin()
  await clock.advance(29_000)
  t.equal(one.pings, 0)
  await clock.advance(1_000)
  t.equal(one.pings, 1)
  await clock.advance(59_000)
  t.equal(one.pings, 1)
  t.notOk(one.isDestroyed)
  await clock.advance(1_000)
  t.ok(one.isDestroyed)
})

t.test('a client that says something is pinged again after the next silence', async t => {
  const { clock, one } = begin()
  for (let i = 1; i <= 20; i++) {
    await clock.advance(30_000)
    t.equal(one.pings, i)
    one.silentSeconds = 0
  }
  t.notOk(one.isDestroyed)
})

t.test('nobody is silent who waits for nothing, or is not read', async t => {
  const { clock, one } = begin()
  one.isListening = false
  await clock.advance(3_600_000)
  t.equal(one.pings, 0)
  one.isListening = true
  await clock.advance(29_000)
  one.isListening = false
  await clock.advance(1_000)
  one.isListening = true
  await clock.advance(29_000)
  t.equal(one.pings, 0)
})

t.test('nothing waits when no connection is left', async t => {
  const clock = new FakeClock()
  const connections = new Bag<PingedConnection>()
  const leave = connections.add(new Pinged())
  pingRounds(clock, connections, { intervalSeconds: 30, timeoutSeconds: 60 }).wake()
  leave()
  await clock.advance(1_000)
  t.equal(clock.pendingTimers, 0)
})
