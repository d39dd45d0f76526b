/** One live page beside its client: how often it is told, and what is held of a client that does
 *  not read. */

import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { LiveResponse } from '../../../lib/views/http/live-response.ts'
import type { LiveCarriage } from '../../../lib/views/http/live-carriage.ts'
import type { LiveView } from '../../../lib/views/live/live-view.ts'
import type { ViewPieces } from '../../../lib/views/documents/view-document.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { ScriptedRequest } from '../../support/http/scripted-request.ts'

const resource = { isWatchCached: true, group: '', resource: 'pods' } as Resource

/** A view that counts how often it was asked. */
class CountedView implements LiveView {
  asked = 0
  closed = 0
  dueAtMs = Infinity
  revision = 5 as Revision
  answer: (asked: number) => ViewPieces | 'expired' | undefined = asked =>
    document(`{"n":${asked}}`)

  get first(): ViewPieces {
    return document('{"n":0}')
  }

  // oxlint-disable-next-line require-yield
  *next(): Generator<undefined, ViewPieces | 'expired' | undefined, undefined> {
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

async function open(carriage: LiveCarriage = 'lines') {
  const clock = new FakeClock()
  const view = new CountedView()
  const request = new ScriptedRequest()
  const faults: unknown[] = []
  const response = new LiveResponse({
    stream: request,
    carriage,
    resource,
    view,
    held: undefined,
    clock,
    onFault: error => void faults.push(error),
  })
  await response.begin()
  const change = (): boolean => response.sink.write(new Uint8Array(1))
  return { clock, view, request, response, change, faults }
}

t.test('a client is told at most each 100 ms, whatever changes', async t => {
  const { clock, view, request, change } = await open()
  for (let i = 0; i < 1_000; i++) {
    change()
    await clock.advance(1)
  }
  await clock.advance(100)
  t.equal(view.asked, 10)
  t.equal(request.text.split('\n').length - 1, 11)
  await clock.advance(10_000)
  t.equal(view.asked, 10, 'nothing is asked where nothing changes')
  t.equal(clock.pendingTimers, 0)
})

t.test('nothing is made for a client that does not read', async t => {
  const { clock, view, request, change } = await open()
  request.isFull = true
  change()
  await clock.advance(100)
  t.equal(view.asked, 1)
  for (let i = 0; i < 100; i++) {
    t.ok(change())
    await clock.advance(100)
  }
  t.equal(view.asked, 1)
  t.equal(request.written.length, 3, 'no more than the piece that filled it')
  request.drain()
  await clock.advance(100)
  t.equal(view.asked, 2, 'one document has all that changed meanwhile')
  request.isFull = true
  change()
  await clock.advance(100)
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
  await clock.advance(100)
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
  await clock.advance(100)
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
  await clock.advance(100)
  t.match(request.text, /"type":"ERROR".*too much/)
  t.strictSame(faults, [])
  const other = await open()
  other.view.answer = () => {
    throw new TypeError('a bug')
  }
  other.change()
  await other.clock.advance(100)
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
  await clock.advance(100)
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
  await clock.advance(100)
  await settle()
  t.equal(view.closed, 1)
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
    await clock.advance(100)
    t.equal(request.text, expected)
  }
  const { clock, view, request, change } = await open('messages')
  t.equal(request.written[0]?.[0], 0x81, 'a short document is one frame')
  request.written.length = 0
  view.answer = pieces
  change()
  await clock.advance(100)
  const frames = request.written.map(frame => [frame[0], Buffer.from(frame.subarray(2)).toString()])
  t.strictSame(frames, [
    [0x01, '{"a":'],
    [0x00, '1'],
    [0x80, '}'],
  ])
})
