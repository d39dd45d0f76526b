import t from 'tap'
import { noteEffort } from '../../../lib/base/slice.ts'
import { itemsJoined, joinedRuns } from '../../../lib/codec/output/joined-items.ts'
import { listBody } from '../../../lib/codec/output/list-body.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import type { ItemEncoder, Segment } from '../../../lib/codec/output/segments.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { configMap, configMaps, drained, entryOf, shownAs } from '../../support/kube/outputs.ts'

const encoder = new ObjectEncoder(configMaps, undefined)
const meta = { resourceVersion: '99' }

function maps(count: number): KeyValue[] {
  return Array.from({ length: count }, (_, i) => configMap(`m${1000 + i}`, {}, i + 1))
}

/** The items as they are joined, and how many of them were encoded. */
function joining(segments = new SegmentCache<Segment>(10_000_000)) {
  let encoded = 0
  const items: ItemEncoder = {
    append(out, { key, modRevision }) {
      encoded++
      out.append(Buffer.from(`${key}@${modRevision};`))
      return undefined
    },
    segmentName: 'text',
  }
  return {
    segments,
    list: (entries: readonly KeyValue[]) => {
      encoded = 0
      const pieces = joinedRuns(entries).flatMap(run => [...itemsJoined(run, items, segments)])
      const bytes = pieces.filter(piece => piece instanceof Uint8Array)
      return { pieces: bytes, text: Buffer.concat(bytes).toString(), encoded }
    },
  }
}

function textOf(entries: readonly KeyValue[]): string {
  return entries.map(({ key, modRevision }) => `${key}@${modRevision};`).join('')
}

t.test('joined items are encoded once, and are the same arrays the next time', async t => {
  const { list, segments } = joining()
  const entries = maps(1_000)
  const first = list(entries)
  t.equal(first.text, textOf(entries))
  t.equal(first.encoded, 1_000)
  t.ok(first.pieces.length > 1_000 / 64 && first.pieces.length < 1_000 / 16)
  t.equal(segments.count, first.pieces.length, 'no item is kept twice')
  const second = list(entries)
  t.equal(second.encoded, 0)
  t.ok(second.pieces.every((piece, i) => piece === first.pieces[i]))
})

t.test('a change, one more or one less concerns the pieces that it is in', async t => {
  const { list } = joining()
  let entries = maps(1_000)
  let before = list(entries).pieces
  for (const [name, from, removed, added] of [
    ['changed', 500, 1, ['m1500']],
    ['one less', 300, 1, []],
    ['one more', 700, 0, ['m1700x']],
    ['the first', 0, 1, ['m1000']],
    ['the last', 998, 1, ['m1999']],
  ] as const) {
    entries = entries.toSpliced(from, removed, ...added.map(one => configMap(one, {}, 2_000)))
    const { text, encoded, pieces } = list(entries)
    t.equal(text, textOf(entries), name)
    t.ok(encoded <= 64, `${name}: ${encoded} were encoded`)
    const others = pieces.filter(piece => !before.includes(piece))
    t.ok(others.length <= 3, `${name}: ${others.length} pieces are others`)
    before = pieces
  }
})

t.test('pieces are not long, whatever the objects are', async t => {
  const large = { data: { text: 'x'.repeat(60_000) } }
  const entries = Array.from({ length: 20 }, (_, i) => configMap(`m${100 + i}`, large, i + 1))
  const huge = configMap('n', { data: { text: 'x'.repeat(500_000) } }, 50)
  for (const { from, to } of joinedRuns([...entries, huge])) t.ok(to - from <= 2)
  t.strictSame(joinedRuns([]), [])
})

t.test('a piece has 64 entries or 128 KiB at most, and few entries are one', async t => {
  // Of names that end alike, all end a piece or none does.
  const sized = (count: number, bytes: number): KeyValue[] =>
    Array.from({ length: count }, (_, i) => entryOf(`a${1000 + i}-likes`, Buffer.alloc(bytes)))
  const endsOf = (count: number, bytes: number): number[] =>
    joinedRuns(sized(count, bytes)).map(({ to }) => to)
  t.strictSame(endsOf(1, 500_000), [1])
  t.strictSame(endsOf(64, 2048), [64], 'to the byte')
  t.strictSame(endsOf(2, 65_536), [2])
  t.strictSame(endsOf(2, 65_537), [1, 2])
  t.strictSame(endsOf(65, 10), [64, 65])
  t.strictSame(endsOf(130, 10), [64, 128, 130])
  t.strictSame(endsOf(70, 4096), [32, 64, 70])
  t.strictSame(endsOf(70, 4097), [31, 62, 70])
})

t.test('of a piece that has changed, only what has changed is encoded', async t => {
  const { list } = joining()
  const entries = maps(8)
  list(entries)
  for (const [name, changed, encoded] of [
    ['the same', entries, 0],
    ['others', entries.map(({ key }) => configMap(key.split('/').at(-1)!, {}, 9)), 8],
    ['one changed', entries.with(5, configMap('m1005', {}, 20)), 1],
    ['one less', entries.toSpliced(3, 1), 0],
    ['two more', entries.toSpliced(4, 0, configMap('m1003a'), configMap('m1003b')), 2],
    ['the last one', entries.with(7, configMap('m1007', {}, 21)), 1],
  ] as const) {
    list(entries)
    const made = list(changed)
    t.equal(made.text, textOf(changed), name)
    t.equal(made.encoded, encoded, name)
  }
})

t.test('items that show ages, or have no name, are not joined', async t => {
  const entries = maps(3)
  const [run] = joinedRuns(entries)
  for (const more of [
    { segmentName: undefined },
    { segmentName: 'text', aging: { now: 1, begin: () => {}, holdsMs: () => 5 } },
  ]) {
    const segments = new SegmentCache<Segment>(10_000_000)
    const append: ItemEncoder['append'] = out => {
      out.appendAscii('x')
      return undefined
    }
    for (let i = 0; i < 2; i++) {
      t.equal([...itemsJoined(run!, { append, ...more }, segments)].length, 3)
    }
  }
})

t.test('a joined list has the bytes of any other', async t => {
  const entries = maps(200)
  const segments = new SegmentCache<Segment>(10_000_000)
  const runs = joinedRuns(entries)
  const request = { form: shownAs(), isPretty: false, meta, runs }
  const plain = drained(listBody(encoder, request)).text
  for (let i = 0; i < 2; i++) {
    t.equal(drained(listBody(encoder, { ...request, segments })).text, plain)
    t.equal(drained(listBody(encoder, { ...request, segments, isZipped: true })).text, plain)
  }
})

t.test('an item that cannot be shown ends the list, and nothing of its piece is kept', async t => {
  const segments = new SegmentCache<Segment>(10_000_000)
  const entries = maps(3)
  const problem = new NotExact('no')
  const items: ItemEncoder = {
    append: (_, entry) => (entry === entries[1] ? problem : undefined),
    segmentName: 'text',
  }
  const [run] = joinedRuns(entries)
  t.strictSame([...itemsJoined(run!, items, segments)], [problem])
  t.equal(segments.count, 0)
})

t.test('items that take long are pieces of their own, each kept', async t => {
  let encoded = 0
  const items: ItemEncoder = {
    append(out, { modRevision }) {
      encoded++
      noteEffort(2_000)
      out.append(Buffer.from(`${modRevision};`))
      return undefined
    },
    segmentName: 'slow',
  }
  const segments = new SegmentCache<Segment>(10_000_000)
  const [run] = joinedRuns(maps(5))
  const pieces = (): string[] => [...itemsJoined(run!, items, segments)].map(String)
  t.same(pieces(), ['1;', '2;', '3;', '4;', '5;'])
  t.equal(encoded, 6, 'the first one twice')
  t.equal(pieces().join(''), '1;2;3;4;5;')
  t.equal(encoded, 6)
})
