import { Readable } from 'node:stream'
import t from 'tap'
import { settle } from '../../../support/fake-clock.ts'
import { decodedCbor } from '../../../support/kube/outputs.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'
import { framesOf } from '../../../support/watch/watch-client.ts'
import {
  eventsOf,
  put,
  putBytes,
  told,
  WatchWorld,
  keyspaceKey,
} from '../../../support/watch/watch-world.ts'

const second = 1_000

t.test('a watch ends in order when its time is up, and not before', async t => {
  const world = new WatchWorld()
  const { request } = await world.open({ timeoutSeconds: 30 })
  await world.put(1, 'a')
  await world.clock.advance(29.9 * second)
  t.notOk(request.isEnded)
  await world.clock.advance(0.2 * second)
  t.ok(request.isEnded)
  t.notOk(request.isAborted)
  t.strictSame(told(request), ['ADDED a@1'])
  t.equal(world.watches.size, 0)
  t.equal(world.hub.size, 0)
  t.equal(world.clock.pendingTimers, 0)
})

t.test('without a time limit, watches end between half an hour and an hour, spread', async t => {
  const world = new WatchWorld()
  for (let i = 0; i < 200; i++) await world.open({ timeoutSeconds: i % 2 === 0 ? 0 : undefined })
  await world.clock.advance(1_799 * second)
  t.equal(world.watches.size, 200)
  const left: number[] = []
  for (let i = 0; i < 6; i++) {
    await world.clock.advance(300 * second)
    left.push(world.watches.size)
  }
  t.equal(left[5], 0)
  t.ok(left.every((size, i) => Math.abs(200 - size - (i + 1) * 33.3) < 30))
})

t.test('a limit beyond what timers take is none that is over at once', async t => {
  const world = new WatchWorld()
  await world.open({ timeoutSeconds: 10_000_000 })
  await world.clock.advance(3_600 * second)
  t.equal(world.watches.size, 1)
})

t.test(
  'bookmarks come about once a minute and before the end, where they were asked for',
  async t => {
    const world = new WatchWorld()
    await world.put(1, 'a')
    const asked = await world.open({ timeoutSeconds: 150, allowBookmarks: true })
    const other = await world.open({ timeoutSeconds: 150 })
    const times: number[] = []
    for (let at = 0; at <= 150 && !asked.request.isEnded; at += 0.5) {
      const before = asked.request.written.length
      await world.clock.advance(0.5 * second)
      if (asked.request.written.length > before) times.push(at)
    }
    t.equal(times.length, 3)
    t.ok(times[0]! > 53 && times[0]! < 62 && times[1]! < 123)
    t.ok(times[2]! >= 147.5 && times[2]! < 149, `${times[2]}`)
    t.strictSame(told(asked.request), ['BOOKMARK @1', 'BOOKMARK @1', 'BOOKMARK @1'])
    t.strictSame(told(other.request), [])
  },
)

t.test('a bookmark says how far etcd is, which is asked once for all that are due', async t => {
  const world = new WatchWorld()
  await world.put(1, 'a')
  const opened = []
  for (let i = 0; i < 50; i++) {
    opened.push(await world.open({ timeoutSeconds: 60, allowBookmarks: true }))
  }
  await world.clock.advance(57.9 * second)
  const before = world.refreshed.length
  await world.clock.advance(0.2 * second)
  t.strictSame(world.refreshed.slice(before), [[keyspaceKey]])
  world.proven = 77
  await world.clock.advance(0.5 * second)
  t.ok(opened.every(({ request }) => told(request).at(-1) === 'BOOKMARK @77'))
})

t.test('a bookmark never comes before what it covers, nor for those who lag', async t => {
  const world = new WatchWorld()
  const quick = await world.open({ timeoutSeconds: 40, allowBookmarks: true })
  const slow = await world.open({ timeoutSeconds: 40, allowBookmarks: true })
  slow.request.isFull = true
  await world.put(1, 'a')
  await world.put(2, 'b')
  await world.clock.advance(38.6 * second)
  t.strictSame(told(quick.request), ['ADDED a@1', 'ADDED b@2', 'BOOKMARK @2'])
  t.strictSame(told(slow.request), ['ADDED a@1'])
  slow.request.drain()
  await settle()
  t.strictSame(told(slow.request), ['ADDED a@1', 'ADDED b@2'])
})

t.test('a watch whose position is still to come gets no bookmark below it', async t => {
  const world = new WatchWorld()
  await world.put(1, 'a')
  const { request } = await world.open({
    position: 9 as never,
    timeoutSeconds: 10,
    allowBookmarks: true,
  })
  await world.clock.advance(9 * second)
  t.strictSame(told(request), [])
  await world.put(10, 'b')
  t.strictSame(told(request), ['ADDED b@10'])
})

t.test('what comes in one go is written in one piece', async t => {
  const world = new WatchWorld()
  const { request } = await world.open()
  for (let at = 1; at <= 5; at++) {
    world.hub.publish(world.store.apply(at as never, [put(at, `m${at}`)], 0))
  }
  await settle()
  t.equal(request.written.length, 1)
  t.equal(told(request).length, 5)
})

t.test('those who have been told the same are written the same bytes', async t => {
  const world = new WatchWorld()
  const [one, other] = [await world.open(), await world.open()]
  const late = await world.open()
  for (let at = 1; at <= 3; at++) {
    if (at === 3) late.request.leave()
    world.hub.publish(world.store.apply(at as never, [put(at, `m${at}`)], 0))
  }
  await settle()
  t.equal(one.request.written[0], other.request.written[0])
  t.equal(told(one.request).length, 3)
  await world.put(4, 'x')
  world.hub.publish(world.store.apply(5 as never, [put(5, 'y'), put(5, 'z')], 0))
  await settle()
  t.strictSame(told(one.request).slice(3), ['ADDED x@4', 'ADDED y@5', 'ADDED z@5'])
})

t.test('a client that does not read costs a position and 64 KiB, and slows nobody', async t => {
  const world = new WatchWorld()
  const slow = await world.open()
  const quick = await world.open()
  slow.request.isFull = true
  for (let at = 1; at <= 100; at++) await world.put(at, `m${at}`, 10_000)
  t.equal(told(quick.request).length, 100)
  t.equal(told(slow.request).length, 1)
  t.equal(slow.connection.watcher?.state, 'lagging')
  t.equal(slow.connection.watcher?.position, 2)
  t.match(world.watches.figures, { open: 2, lagging: 1 })
  slow.request.drain()
  await settle()
  t.strictSame(told(slow.request), told(quick.request))
  t.equal(slow.connection.watcher?.state, 'live')
})

t.test('a watch that has ended takes nothing', async t => {
  const world = new WatchWorld()
  const { request, connection } = await world.open()
  connection.end()
  const { length } = request.written
  t.notOk(connection.write(Buffer.from('late')))
  await settle()
  t.equal(request.written.length, length)
})

t.test(
  'over HTTP/2 what comes next is there when the client has read, and no more than that',
  async t => {
    const world = new WatchWorld()
    const slow = await world.open({}, {}, new ScriptedRequest('GET', '2'))
    slow.request.isFull = true
    for (let at = 1; at <= 100; at++) await world.put(at, `m${at}`, 3_000)
    t.equal(told(slow.request).length, 1)
    const position = slow.connection.watcher?.position ?? 0
    t.ok(
      position > 8 && position < 13,
      `10 objects of 3,000 bytes wait, up to revision ${position}`,
    )
    slow.request.drain()
    await settle()
    t.equal(told(slow.request).length, 100)
    t.equal(slow.connection.watcher?.state, 'live')
  },
)

for (const version of ['1.1', '2'] as const) {
  const [objectBytes, pieceBytes] = [10_000, (version === '2' ? 32 : 64) * 1024]
  const name = `between two of its client's reads, a watch over HTTP/${version} writes ${pieceBytes} bytes at most`
  t.test(name, async t => {
    const world = new WatchWorld()
    const { request } = await world.open({}, {}, new ScriptedRequest('GET', version))
    request.isFull = true
    for (let at = 1; at <= 100; at++) await world.put(at, `m${at}`, objectBytes)
    const pieces: number[] = []
    while (told(request).length < 100) {
      request.isFull = true
      request.emit('drain')
      await settle()
      pieces.push(request.written.at(-1)!.length)
    }
    t.ok(pieces.every(bytes => bytes <= pieceBytes))
    t.ok(pieces.length > 10)
    t.ok(pieces.length < (2 * 100 * objectBytes) / pieceBytes, 'and much of it')
  })
}

t.test(
  'a client that falls out of the history is told so, and the stream ends in order',
  async t => {
    const world = new WatchWorld({ maxBatches: 10 })
    const { request } = await world.open()
    request.isFull = true
    for (let at = 1; at <= 30; at++) await world.put(at, `m${at}`, 1)
    request.drain()
    await settle()
    const events = eventsOf(request)
    t.strictSame(
      events.map(({ type }) => type),
      ['ADDED', 'ADDED', 'ERROR'],
    )
    t.match(events.at(-1)?.object, {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'too old resource version: 2 (20)',
    })
    t.ok(request.isEnded)
    t.notOk(request.isAborted)
    t.equal(world.watches.size, 0)
    t.equal(world.hub.size, 0)
  },
)

t.test('a watch from a revision that is not kept any more is told so at once', async t => {
  const world = new WatchWorld({ maxBatches: 10 })
  for (let at = 1; at <= 30; at++) await world.put(at, 'a')
  const { request } = await world.open({ position: 5 as never })
  t.match(eventsOf(request), [
    { type: 'ERROR', object: { code: 410, message: 'too old resource version: 5 (20)' } },
  ])
  t.ok(request.isEnded)
  t.equal(world.watches.size, 0)
})

t.test('a revision of an old epoch has expired, though it is above all there is', async t => {
  const world = new WatchWorld()
  await world.put(1, 'a')
  world.oldEpochAbove = 3
  const { request } = await world.open({ position: 5 as never })
  t.match(eventsOf(request), [{ type: 'ERROR', object: { code: 410 } }])
  t.ok(request.isEnded)
})

t.test('when the history is replaced, watches are told 410, whatever they wait for', async t => {
  const world = new WatchWorld()
  const quick = await world.open()
  const slow = await world.open()
  slow.request.isFull = true
  await world.put(1, 'a')
  await world.put(2, 'b')
  world.store.restore([], 9 as never)
  world.hub.expireAll()
  t.strictSame(told(quick.request).slice(0, 2), ['ADDED a@1', 'ADDED b@2'])
  t.match(eventsOf(quick.request).at(-1), { type: 'ERROR', object: { code: 410 } })
  slow.request.drain()
  t.match(eventsOf(slow.request).at(-1), { type: 'ERROR', object: { code: 410 } })
  t.equal(world.hub.size, 0)
})

t.test('an object that cannot be shown ends watches at the revision before it', async t => {
  const world = new WatchWorld()
  const { request } = await world.open()
  await world.put(1, 'a')
  await world.apply(2, put(2, 'b'), putBytes(2, 'c', Buffer.from('k8s:enc:x')))
  await world.put(3, 'd')
  t.strictSame(told(request), ['ADDED a@1'], 'nothing of the revision that it is part of')
  t.ok(request.isEnded)
  t.equal(world.watches.size, 0)
})

t.test('a client that leaves leaves nothing behind', async t => {
  const world = new WatchWorld()
  const { request } = await world.open({ allowBookmarks: true })
  await world.put(1, 'a')
  request.leave()
  t.equal(world.clock.pendingTimers, 0)
  t.equal(world.watches.size, 0)
  t.equal(world.hub.size, 0)
  await world.put(2, 'b')
  await world.clock.advance(7_200 * second)
  t.strictSame(told(request), ['ADDED a@1'])
})

t.test("a client that does not read its watch's end is cut off a minute later", async t => {
  const world = new WatchWorld()
  const { request } = await world.open({ timeoutSeconds: 10 })
  request.isFull = true
  await world.put(1, 'a')
  await world.clock.advance(11 * second)
  t.ok(request.isEnded)
  t.notOk(request.isClosed)
  await world.clock.advance(60 * second)
  t.ok(request.isAborted)
  t.equal(world.watches.size, 0)
})

t.test('when the server stops, watches end in order, and those that come then at once', async t => {
  const world = new WatchWorld()
  const { request } = await world.open()
  await world.put(1, 'a')
  world.watches.stop()
  t.ok(request.isEnded)
  t.strictSame(told(request), ['ADDED a@1'])
  const late = await world.open()
  t.ok(late.request.isEnded)
  t.equal(world.watches.size, 0)
})

t.test('watches of a keyspace whose objects are written otherwise end', async t => {
  const world = new WatchWorld()
  const { request } = await world.open()
  world.watches.endAll(['/registry/secrets/' as never])
  t.notOk(request.isEnded)
  world.watches.endAll([keyspaceKey])
  t.ok(request.isEnded)
})

t.test('a Table tells its columns in the first event of each watch, and in no other', async t => {
  const world = new WatchWorld()
  const early = await world.open({}, { rendering: 'Table' })
  await world.put(1, 'a')
  const late = await world.open({}, { rendering: 'Table' })
  await world.put(2, 'b')
  const columns = (stream: { text: string }): boolean[] =>
    eventsOf(stream).map(({ object }) => Array.isArray(object.columnDefinitions))
  t.strictSame(columns(early.request), [true, false])
  t.strictSame(columns(late.request), [true])
})

t.test('a stream of CBOR is a sequence of tagged items', async t => {
  const world = new WatchWorld()
  const cbor = await world.open({}, { encoding: 'cbor' })
  const json = await world.open()
  await world.put(1, 'a')
  await world.put(2, 'b')
  const pieces = Readable.from(cbor.request.written)
  const items: unknown[] = []
  for await (const frame of framesOf(pieces, 'application/cbor-seq')) items.push(decodedCbor(frame))
  t.same(items, eventsOf(json.request))
})
