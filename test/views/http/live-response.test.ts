/** One live page beside its client: how often it is told, in rounds, and what is held of a client
 *  that does not read. */

import assert from 'node:assert/strict'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { allKeys } from '../../../lib/base/keys.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { RequestFaults } from '../../../lib/cache/http/request/faults.ts'
import { NeedsConversion } from '../../../lib/codec/served/custom/converted-objects.ts'
import { attributesOf } from '../../../lib/kube/request/attributes.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { InjectedFaults } from '../../../lib/simulator/faults/injected-faults.ts'
import { parseFaultRule } from '../../../lib/simulator/faults/rule.ts'
import { LiveResponse } from '../../../lib/views/http/live-response.ts'
import { LiveRounds } from '../../../lib/views/http/live-rounds.ts'
import type { LiveCarriage } from '../../../lib/views/http/live-carriage.ts'
import type { LiveEnd, LiveView } from '../../../lib/views/live/live-view.ts'
import type { ViewPieces } from '../../../lib/views/documents/view-document.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { ScriptedRequest } from '../../support/http/scripted-request.ts'
import { never, put, World } from '../../support/watch/hub-world.ts'

const resource = { isWatchCached: true, group: '', resource: 'pods' } as Resource

/** A view that counts how often it was asked. */
class CountedView implements LiveView {
  asked = 0
  closed = 0
  dueAtMs = Infinity
  revision = 5 as Revision
  answer: (asked: number) => ViewPieces | LiveEnd | undefined = asked => document(`{"n":${asked}}`)

  get first(): ViewPieces {
    return document('{"n":0}')
  }

  // oxlint-disable-next-line require-yield
  *next(): Generator<undefined, ViewPieces | LiveEnd | undefined, undefined> {
    return this.answer(++this.asked)
  }

  close(): void {
    this.closed++
  }
}

function* document(...pieces: string[]): ViewPieces {
  for (const piece of pieces) yield Buffer.from(piece)
  return undefined
}

/** A keyspace with live pages of everything. */
class LiveWorld {
  readonly clock = new FakeClock()
  readonly hub = new World()
  readonly bugs: unknown[] = []
  isHeld = false
  emptied = 0
  rounds: LiveRounds | undefined
  #at = 5

  async open(
    carriage: LiveCarriage = 'lines',
    view = new CountedView(),
    faults?: RequestFaults,
  ): Promise<{ view: CountedView; request: ScriptedRequest; response: LiveResponse }> {
    const { clock, hub } = this
    const request = new ScriptedRequest()
    const response = new LiveResponse({
      stream: request,
      carriage,
      resource,
      view,
      held: undefined,
      faults,
      clock,
      onFault: error => void this.bugs.push(error),
    })
    await response.begin()
    this.rounds ??= new LiveRounds({
      hub: hub.hub,
      id: 'views',
      range: allKeys,
      position: view.revision,
      clock,
      isHeld: () => this.isHeld,
      onEmpty: () => this.emptied++,
    })
    const { watcher, release } = response.join(this.rounds)
    response.follow(hub.hub, watcher)
    request.onClose(release)
    hub.hub.run(never)
    // It is asked once what has changed since it began.
    const { answer } = view
    view.answer = () => undefined
    await clock.advance(1_000)
    assert.equal(view.asked, 1)
    view.asked = 0
    view.answer = answer
    return { view, request, response }
  }

  change(): void {
    this.#at++
    this.hub.apply(this.#at, put('a', 'x', this.#at))
  }
}

async function open(carriage: LiveCarriage = 'lines') {
  const world = new LiveWorld()
  const { view, request, response } = await world.open(carriage)
  const { clock, bugs: faults } = world
  return { clock, view, request, response, faults, world, change: () => world.change() }
}

t.test('a client is told at most each 500 ms, whatever changes', async t => {
  const { clock, view, request, change } = await open()
  for (let i = 0; i < 2_000; i++) {
    change()
    await clock.advance(1)
  }
  await clock.advance(500)
  t.equal(view.asked, 5, 'at once, and then every 500 ms')
  t.equal(request.text.split('\n').length - 1, 6)
  await clock.advance(10_000)
  t.equal(view.asked, 5, 'nothing is asked where nothing changes')
  t.equal(clock.pendingTimers, 0)
})

t.test('nothing is made for a client that does not read', async t => {
  const { clock, view, request, change } = await open()
  request.isFull = true
  change()
  await clock.advance(500)
  t.equal(view.asked, 1)
  for (let i = 0; i < 100; i++) {
    change()
    await clock.advance(100)
  }
  t.equal(view.asked, 1)
  t.equal(request.written.length, 2, 'no more than the piece that filled it')
  request.drain()
  await clock.advance(500)
  t.equal(view.asked, 2, 'one document has all that changed meanwhile')
  request.isFull = true
  change()
  await clock.advance(500)
  t.notOk(request.isAborted)
  await clock.advance(60_000)
  t.ok(request.isAborted, 'after a minute it is cut off')
  t.equal(view.closed, 1)
})

t.test('a view that is due by itself is asked then', async t => {
  const { clock, view, request, change } = await open()
  view.answer = () => undefined
  change()
  view.dueAtMs = clock.wallMs() + 5_000
  await clock.advance(500)
  t.equal(view.asked, 1)
  view.answer = () => {
    view.dueAtMs = Infinity
    return document('{"due":1}')
  }
  await clock.advance(4_000)
  t.equal(view.asked, 1)
  await clock.advance(1_000)
  t.equal(view.asked, 2)
  t.match(request.text, /\{"due":1\}\n$/)
})

t.test('a page that cannot be followed any more ends with the reason', async t => {
  const { clock, view, request, change } = await open()
  view.answer = () => 'expired'
  change()
  await clock.advance(500)
  const last = JSON.parse(request.text.trim().split('\n').at(-1) ?? '') as object
  t.match(last, { type: 'ERROR', object: { kind: 'Status', reason: 'Expired', code: 410 } })
  t.ok(request.isEnded)
  t.equal(view.closed, 1)
  t.equal(clock.pendingTimers, 0)
})

t.test('a failure ends the page, and a bug is told', async t => {
  const { clock, view, request, change, faults } = await open()
  view.answer = () => {
    throw new CacheError('overloaded', 'too much')
  }
  change()
  await clock.advance(500)
  t.match(request.text, /"type":"ERROR".*too much/)
  t.strictSame(faults, [])
  const other = await open()
  other.view.answer = () => {
    throw new TypeError('a bug')
  }
  other.change()
  await other.clock.advance(500)
  t.match(other.request.text, /"code":500/)
  t.equal(other.faults.length, 1)
  t.equal(other.view.closed, 1)
})

t.test('a bookmark comes only when everything before it was sent', async t => {
  const { clock, response, request, change } = await open()
  const bookmark = response.framing.bookmark(9 as Revision, false) as Uint8Array
  t.equal(Buffer.from(bookmark).toString(), '{"type":"BOOKMARK","revision":"9"}\n')
  change()
  response.write(bookmark)
  t.notMatch(request.text, /BOOKMARK/)
  await clock.advance(500)
  response.write(bookmark)
  t.match(request.text, /BOOKMARK/)
})

t.test('a client that leaves gives back the view', async t => {
  const { clock, view, request, change, response } = await open()
  change()
  request.leave()
  await clock.advance(1_000)
  t.equal(view.asked, 0)
  t.equal(view.closed, 1)
  t.equal(response.endedAs, 'client')
  t.equal(clock.pendingTimers, 0)
})

t.test('a client that leaves while the view is asked gives it back afterwards', async t => {
  const { clock, view, request, change } = await open()
  view.answer = () => {
    request.leave()
    t.equal(view.closed, 0)
    return document('{}')
  }
  change()
  await clock.advance(500)
  await settle()
  t.equal(view.closed, 1)
})

t.test('pages that share their rounds end one by one', async t => {
  const world = new LiveWorld()
  const one = await world.open()
  const other = await world.open()
  one.request.leave()
  t.equal(world.emptied, 0)
  world.change()
  await world.clock.advance(500)
  t.strictSame([one.view.asked, other.view.asked], [0, 1])
  t.equal(world.hub.hub.size, 1, 'one watcher for all')
  other.request.leave()
  t.equal(world.emptied, 1)
  t.equal(world.hub.hub.size, 0)
  t.equal(world.clock.pendingTimers, 0)
})

t.test('pages whose history is gone end with the reason, all of them', async t => {
  const world = new LiveWorld()
  const pages = [await world.open(), await world.open()]
  world.hub.hub.expireAll()
  await world.clock.advance(500)
  for (const { request, view, response } of pages) {
    t.match(request.text, /"type":"ERROR".*"code":410/)
    t.equal(response.endedAs, 'expired')
    t.equal(view.closed, 1)
  }
  t.equal(world.rounds?.isOpen, false)
})

t.test('what cannot be shown yet is waited for', async t => {
  const world = new LiveWorld()
  const { view } = await world.open()
  world.isHeld = true
  world.change()
  world.change()
  await world.clock.advance(10_000)
  t.equal(view.asked, 0)
  view.dueAtMs = 0
  await world.clock.advance(10_000)
  t.equal(view.asked, 0, 'not by itself either')
  world.isHeld = false
  view.dueAtMs = Infinity
  world.hub.hub.resumeHeld()
  world.hub.hub.run(never)
  await world.clock.advance(500)
  t.equal(view.asked, 1)
})

t.test('what is converted too late ends the page, which says so', async t => {
  const world = new LiveWorld()
  const { view, request } = await world.open()
  view.answer = () => new NeedsConversion()
  world.change()
  await world.clock.advance(500)
  t.match(request.text, /"code":503/)
  t.match(request.text, /the live view of \\"pods\\" ends: an object has to be converted/)
})

t.test('a fault ends a page after so many documents', async t => {
  for (const [after, sent] of [
    [0, 0],
    [1, 1],
    [3, 3],
  ] as const) {
    const rules = [parseFaultRule(`watch-end,after=${after}`)]
    const injected = new InjectedFaults({ rules, seed: 1, onMet: () => {} })
    const attributes = attributesOf('GET', parseTarget('/api/v1/pods?watch=1')!)
    const faults = injected.chooseFor({ attributes, userAgent: '' })
    const world = new LiveWorld()
    const { request, response } = await world.open('lines', new CountedView(), faults)
    for (let i = 0; i < 5; i++) {
      world.change()
      await world.clock.advance(500)
    }
    t.equal(request.text.split('\n').length - 2, sent)
    t.ok(request.isEnded)
    t.equal(response.endedAs, 'fault')
    t.strictSame(faults?.met, ['watch-end'])
  }
})

t.test('documents of several pieces are one line, one event or one message', async t => {
  const pieces = (): ViewPieces => document('{"a":', '1', '}')
  for (const [carriage, expected] of [
    ['lines', '{"a":1}\n'],
    ['events', 'data: {"a":1}\n\n'],
  ] as const) {
    const { clock, view, request, change } = await open(carriage)
    request.written.length = 0
    view.answer = pieces
    change()
    await clock.advance(500)
    t.equal(request.text, expected)
  }
  const { clock, view, request, change } = await open('messages')
  t.equal(request.written[0]?.[0], 0x81, 'a short document is one frame')
  request.written.length = 0
  view.answer = pieces
  change()
  await clock.advance(500)
  const frames = request.written.map(frame => [frame[0], Buffer.from(frame.subarray(2)).toString()])
  t.strictSame(frames, [
    [0x01, '{"a":'],
    [0x00, '1'],
    [0x80, '}'],
  ])
})
