import t from 'tap'
import {
  allKeys,
  keyAfter,
  keyFromText,
  minKey,
  singleKey,
  type KeyRange,
} from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import type { WatchEvent } from '../../lib/etcd/proto/key-value.ts'
import { piecesOf, watchResponseCodec } from '../../lib/etcd/proto/watch-messages.ts'
import {
  FragmentJoiner,
  changesFromEvents,
  headerFromMessage,
  keysFromRange,
  messageFromWatch,
} from '../../lib/etcd/wire.ts'
import { watchResponse } from '../support/etcd/watch-response.ts'

t.test('ranges become what etcd means by a key and a range end', async t => {
  const a = keyFromText('a')
  const b = keyFromText('b')
  const zero = keyFromText('\0')
  const nothing = [keyFromText('\u0001'), keyFromText('\u0001')]
  const rows: [KeyRange, string[]][] = [
    [{ start: a, end: b }, [a, b]],
    [singleKey(a), [a, '']],
    [{ start: a, end: undefined }, [a, zero]],
    [{ start: minKey, end: undefined }, [zero, zero]],
    [{ start: minKey, end: b }, [zero, b]],
    [singleKey(zero), [zero, '']],
    [{ start: minKey, end: keyAfter(zero) }, [zero, keyAfter(zero)]],
    [{ start: minKey, end: zero }, nothing],
    [{ start: minKey, end: minKey }, nothing],
    [{ start: b, end: a }, nothing],
    [{ start: a, end: minKey }, nothing],
    [{ start: a, end: zero }, nothing],
    [{ start: a, end: a }, nothing],
  ]
  for (const [range, expected] of rows) {
    const { key, rangeEnd } = keysFromRange(range)
    t.strictSame([key, rangeEnd], expected, JSON.stringify(range))
  }
})

t.test('events become the changes of one revision each', async t => {
  const events = [event('a', 3), event('b', 3), event('a', 5)]
  t.strictSame(
    changesFromEvents(events).map(({ revision, changes }) => [revision, changes.length]),
    [
      [3, 2],
      [5, 1],
    ],
  )
  t.strictSame(changesFromEvents([]), [])
})

t.test(
  'a watch is not asked for in fragments, which etcd makes in the square of events',
  async t => {
    const { request } = messageFromWatch({ range: allKeys })
    t.match(request, { type: 'create', value: { fragment: false } })
  },
)

t.test(
  'a large response is read in pieces of which all but the first have only events',
  async t => {
    const events = Array.from({ length: 10_000 }, (_, i) => event(`key-${i}-${'x'.repeat(20)}`, 3))
    const header = { clusterId: 1n, memberId: 2n, raftTerm: 3n, revision: 9 }
    const bytes = watchResponseCodec.encode(watchResponse({ header, events }))
    const pieces = piecesOf(bytes)
    t.ok(pieces.length > 4)
    t.ok(pieces.every(piece => piece.length < 100_000))
    t.same(Buffer.concat(pieces), bytes)
    const read = pieces.map(piece => watchResponseCodec.decode(piece))
    t.strictSame(
      read.flatMap(part => part.events.map(({ key }) => key)),
      events.map(({ key }) => key),
    )
    t.equal(read[0]?.header?.revision, 9)
    t.ok(read.slice(1).every(part => part.header === undefined))
    const late = Buffer.concat([bytes, watchResponseCodec.encode(watchResponse({ watchId: 1n }))])
    t.strictSame(piecesOf(late), [late], 'another order of fields')
    const cut = bytes.subarray(0, -1)
    t.strictSame(piecesOf(cut), [cut], 'the codec says what is wrong')
  },
)

t.test('fragments are joined, and nothing may come in between', async t => {
  const joiner = new FragmentJoiner()
  t.equal(joiner.join(watchResponse({ events: [event('a', 3)], fragment: true })), undefined)
  t.equal(joiner.join(watchResponse({ events: [event('b', 3)], fragment: true })), undefined)
  const joined = joiner.join(watchResponse({ events: [event('c', 4)] }))
  t.strictSame(
    joined?.events.map(({ key }) => String(key)),
    ['a', 'b', 'c'],
  )
  t.equal(joined?.fragment, false)
  const whole = watchResponse({ events: [event('d', 5)] })
  t.equal(joiner.join(whole), whole)
  joiner.join(watchResponse({ events: [event('e', 6)], fragment: true }))
  t.throws(() => joiner.join(watchResponse({})), { code: 'source_failed' })
})

t.test('a header that is missing, or has a revision that we cannot hold, is a failure', async t => {
  t.throws(() => headerFromMessage(undefined), { code: 'source_failed' })
  const header = { clusterId: 1n, memberId: 2n, raftTerm: 3n, revision: 2 ** 53 }
  t.throws(() => headerFromMessage(header), { code: 'source_failed' })
})

function event(name: string, at: number): WatchEvent {
  return { key: keyFromText(name), revision: revision(at), after: undefined, previous: undefined }
}
