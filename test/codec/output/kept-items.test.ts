/** Items that are kept are a fast path: each answer is compared with what encoding each item gives,
 *  and the number of items that were encoded says whether the fast path was taken. */

import t from 'tap'
import {
  type Aging,
  ExpectedSize,
  holderOfKept,
  isWhole,
  type ItemEncoder,
  itemsOfPicked,
  itemsOfRun,
  keptOfEntry,
  type KeptItems,
  noteKept,
  overheadBytes,
  partOfKept,
  type Run,
  runsOfEntries,
  type Segment,
  type SharedSegments,
} from '../../../lib/codec/output/segments.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { configMap } from '../../support/kube/outputs.ts'

const entries = Array.from({ length: 8 }, (_, i) => configMap(`m${i}`, {}, i + 1))
const textOf = ({ key }: KeyValue): string => `${key};`.padEnd(24 + key.length)
const bad = new NotExact('cannot be shown')

/** An encoder that counts; each item is some text, and the keys that end so cannot be shown. */
function counting(more: Partial<ItemEncoder> = {}, unreadable = 'none') {
  const seen = { encoded: 0 }
  const encoder: ItemEncoder = {
    append(out, entry) {
      seen.encoded++
      if (entry.key.endsWith(unreadable)) return bad
      out.append(Buffer.from(textOf(entry)))
      return undefined
    },
    segmentName: 'text',
    ...more,
  }
  const ask = (run: Run, keep: KeptItems): string => {
    const items = itemsOfRun(run, encoder, keep)
    return items instanceof NotExact ? items.reason : Buffer.from(items).toString()
  }
  return { seen, encoder, ask }
}

const texts = (from: number, to: number): string => entries.slice(from, to).map(textOf).join('')
const wholeBytes = texts(0, 8).length
const cacheOf = (bytes = 100_000): SegmentCache<Segment> => new SegmentCache<Segment>(bytes)
const runOf = (from: number, to: number, leaf: object = {}): Run => ({
  entries,
  from,
  to,
  leaf,
  size: 8,
})

t.test(
  'a leaf of which half is asked for is encoded whole, once, and any part cut out',
  async t => {
    for (let from = 0; from < 8; from++) {
      for (let to = from + 1; to <= 8; to++) {
        for (const isLong of [false, true]) {
          const { seen, ask } = counting()
          const cache = cacheOf()
          const isHalf = isLong || to - from >= 4
          const run = runOf(from, to)
          t.equal(ask(run, { cache, isLong }), texts(from, to))
          t.equal(seen.encoded, isHalf ? 8 : to - from)
          t.equal(cache.bytes, isHalf ? wholeBytes + 4 * 8 + overheadBytes : 0)
          t.equal(ask(run, { cache, isLong }), texts(from, to))
          t.equal(seen.encoded, isHalf ? 8 : 2 * (to - from))
        }
      }
    }
  },
)

t.test('nothing is kept without a leaf, a name, a size or a cache', async t => {
  for (const [run, name, isKept] of [
    [runOf(0, 8), 'text', true],
    [{ ...runOf(0, 8), leaf: undefined }, 'text', false],
    [runOf(0, 8), undefined, false],
    [{ ...runOf(0, 8), size: undefined }, 'text', false],
  ] as const) {
    const { seen, ask } = counting({ segmentName: name })
    const cache = cacheOf()
    for (let i = 0; i < 2; i++) t.equal(ask(run, { cache }), texts(0, 8))
    t.equal(cache.count, isKept ? 1 : 0)
    t.equal(seen.encoded, isKept ? 8 : 16)
    t.equal(ask(run, {}), texts(0, 8))
  }
})

t.test('an item that cannot be shown concerns only the runs that it is in', async t => {
  for (const [from, to, encoded] of [
    [0, 8, 8],
    [0, 7, 8 + 7],
    [1, 8, 8 + 7],
    [4, 8, 8 + 4],
  ] as const) {
    const { seen, ask } = counting({}, 'm7')
    const cache = cacheOf()
    t.equal(ask(runOf(from, to), { cache }), to === 8 ? bad.reason : texts(from, to))
    t.equal(seen.encoded, encoded)
    t.equal(cache.count, 0)
  }
})

t.test('what does not fit beside what a long list spares is not kept', async t => {
  const size = wholeBytes + 4 * 8 + overheadBytes
  for (const [room, count] of [
    [size - 1, 0],
    [size, 1],
  ] as const) {
    const { ask } = counting()
    const cache = cacheOf(room)
    t.equal(ask(runOf(0, 8), { cache, sparedBytes: 1e9 }), texts(0, 8))
    t.equal(cache.count, count)
  }
})

t.test('what threads share is looked for there, and kept there while there is room', async t => {
  const found = { bytes: Buffer.from(texts(0, 8)), ends: new Uint32Array(8) }
  for (const i of entries.keys()) found.ends[i] = texts(0, i + 1).length
  const exactRoom = wholeBytes + overheadBytes
  for (const { room = exactRoom, sparedBytes = 1, knows = false, keeps = true, name = 'all' } of [
    {},
    { room: exactRoom - 1 },
    { room: 0, sparedBytes: 0 },
    { keeps: false },
    { knows: true },
    { name: undefined, knows: true },
  ]) {
    const { seen, ask } = counting({ sharedName: 'name' in { name } ? name : undefined })
    let kept = 0
    const shared: SharedSegments = {
      maxBytes: 1e6,
      room,
      find: (_, { from, to }) => (knows && from < to ? found : undefined),
      keep(_, run, made) {
        kept++
        t.ok(isWhole(run))
        t.equal(Buffer.from(made.bytes).toString(), texts(0, 8))
        return keeps ? { ...made, bytes: Buffer.from(made.bytes) } : undefined
      },
    }
    const cache = cacheOf()
    t.equal(ask(runOf(1, 8), { cache, shared, sparedBytes }), texts(1, 8))
    const isFound = knows && name !== undefined
    const isTold = !isFound && name !== undefined && (sparedBytes === 0 || room >= exactRoom)
    t.equal(seen.encoded, isFound ? 0 : 8)
    t.equal(kept, isTold ? 1 : 0)
    t.equal(cache.count, isFound || (isTold && keeps) ? 0 : 1)
  }
})

t.test(
  'items that show ages are written again when they have aged, and the others not',
  async t => {
    const leaf = {}
    const cache = cacheOf()
    // The item of each entry holds as long as its place says.
    let index = 0
    const begun: number[] = []
    const at = (now: number, from = 0, to = 8): { text: string; encoded: number } => {
      const aging: Aging = {
        now,
        begin: () => begun.push(now),
        holdsMs: () => 10 * (entries.indexOf(last!) + 1),
      }
      let last: KeyValue | undefined
      const { seen, encoder } = counting({ aging })
      const append: ItemEncoder['append'] = (out, entry) => {
        last = entry
        return encoder.append(out, entry)
      }
      const items = itemsOfRun(runOf(from, to, leaf), { ...encoder, append }, { cache })
      index++
      return { text: Buffer.from(items as Uint8Array).toString(), encoded: seen.encoded }
    }
    t.same(at(100), { text: texts(0, 8), encoded: 8 })
    t.equal(cache.bytes, wholeBytes + 4 * 8 * 5 + overheadBytes, 'two times for each item, too')
    t.same(at(100), { text: texts(0, 8), encoded: 0 }, 'from then on')
    t.same(at(109), { text: texts(0, 8), encoded: 0 })
    t.same(at(110, 1, 8), { text: texts(1, 8), encoded: 0 }, 'only what is shown counts')
    t.same(at(110), { text: texts(0, 8), encoded: 1 }, 'until then')
    t.same(at(119), { text: texts(0, 8), encoded: 0 })
    t.same(at(135, 3, 8), { text: texts(3, 8), encoded: 0 })
    t.same(at(135, 2, 8), { text: texts(2, 8), encoded: 3 }, 'the whole leaf is made again')
    t.same(at(99), { text: texts(0, 8), encoded: 8 }, 'the clock was put back')
    t.equal(begun.length, 8 + 1 + 3 + 8)
    t.equal(index, 9)
    const [a, b] = [at(99, 1, 3), at(99, 1, 3)]
    t.same(a, b)
  },
)

t.test('items are cut out of kept ones that have something more', async t => {
  const leaf = {}
  const cache = cacheOf()
  const { ask: askWhole } = counting()
  askWhole(runOf(0, 8, leaf), { cache })
  const uncut = (problem?: NotExact): ItemEncoder['uncut'] => ({
    segmentName: 'text',
    cut(out, from) {
      const text = Buffer.from(out.bytes.subarray(from, out.length)).toString()
      if (problem !== undefined && text.includes('m5')) return problem
      out.length = from + text.trimEnd().length
      return undefined
    },
  })
  const shorter = (from: number, to: number): string =>
    entries
      .slice(from, to)
      .map(entry => textOf(entry).trimEnd())
      .join('')
  for (const [from, to] of [
    [0, 8],
    [0, 1],
    [3, 5],
    [7, 8],
  ] as const) {
    const { seen, ask } = counting({ segmentName: 'short', uncut: uncut() })
    t.equal(ask(runOf(from, to), { cache }), texts(from, to), 'not with this leaf')
    t.ok(seen.encoded > 0)
    seen.encoded = 0
    t.equal(ask(runOf(from, to, leaf), { cache }), shorter(from, to))
    t.equal(seen.encoded, 0)
  }
  const { ask } = counting({ segmentName: 'none', uncut: uncut(bad) })
  t.equal(ask(runOf(0, 8, leaf), { cache }), bad.reason)
  t.equal(ask(runOf(0, 5, leaf), { cache }), shorter(0, 5))
})

t.test('parts of kept items are the same arrays, as long as they are four', async t => {
  const items = Buffer.from('0123456789')
  t.equal(partOfKept(items, 0, 10), items)
  t.equal(holderOfKept(items), undefined)
  noteKept(items)
  const holder = holderOfKept(items)
  noteKept(items)
  t.ok(holder !== undefined && holderOfKept(items) === holder)
  const parts = [0, 1, 2, 3].map(at => partOfKept(items, at, 5))
  t.strictSame(parts.map(String), ['01234', '1234', '234', '34'])
  t.ok(parts.every((part, at) => partOfKept(items, at, 5) === part && holderOfKept(part)))
  const others = [partOfKept(items, 0, 4), partOfKept(items, 1, 6), partOfKept(items, 0, 9)]
  t.strictSame(others.map(String), ['0123', '12345', '012345678'])
  t.equal(partOfKept(items, 3, 5), parts[3], 'the last of the four is still there')
  t.not(partOfKept(items, 0, 5), parts[0], 'the first is not')
})

t.test('picked entries are one piece the second time', async t => {
  const pieces = (run: Run, encoder: ItemEncoder, cache: SegmentCache<Segment>): string[] =>
    [...itemsOfPicked(run, encoder, cache)].map(piece =>
      piece instanceof NotExact ? piece.reason : Buffer.from(piece).toString(),
    )
  const { seen, encoder } = counting()
  const cache = cacheOf()
  const run = { ...runOf(2, 5), leaf: undefined }
  const each = entries.slice(2, 5).map(textOf)
  t.strictSame(pieces(run, encoder, cache), each)
  const perItem = each.reduce((sum, { length }) => sum + length + 4 + overheadBytes, 0)
  t.equal(cache.bytes, perItem + each.join('').length + overheadBytes + 8 * 3)
  t.strictSame(pieces(run, encoder, cache), [each.join('')])
  t.equal(seen.encoded, 3)
  t.strictSame(pieces({ ...run, to: 6 }, encoder, cache), entries.slice(2, 6).map(textOf))
  t.equal(seen.encoded, 4, 'the others were kept one by one')
  const others = [entries[2]!, entries[4]!, entries[3]!, entries[5]!]
  const swapped = pieces({ ...run, entries: others, from: 0, to: 4 }, encoder, cache)
  t.strictSame(swapped, others.map(textOf), 'other entries behind the same first one')
  t.strictSame(pieces({ ...run, to: 2 }, encoder, cache), [])
  const unreadable = counting({ segmentName: 'x' }, 'm3')
  t.strictSame(pieces(run, unreadable.encoder, cache), [each[0], bad.reason])
  for (const more of [
    { segmentName: undefined },
    { aging: { now: 1, begin: () => {}, holdsMs: () => 5 } },
  ]) {
    const plain = counting(more)
    const own = cacheOf()
    for (let i = 0; i < 2; i++) t.strictSame(pieces(run, plain.encoder, own), each)
  }
})

t.test('picked entries of more than 256 KiB stay pieces', async t => {
  for (const [bytes, count] of [
    [256 * 1024, 1],
    [256 * 1024 + 1, 2],
  ] as const) {
    const cache = cacheOf(10_000_000)
    const sizes = [bytes - 1000, 1000]
    const encoder: ItemEncoder = {
      append(out, { key }) {
        out.append(Buffer.alloc(sizes[Number(key.at(-1))]!))
        return undefined
      },
      segmentName: `large ${bytes}`,
    }
    const run = { ...runOf(0, 2), leaf: undefined }
    for (const expected of [2, count]) {
      t.equal([...itemsOfPicked(run, encoder, cache)].length, expected)
    }
  }
})

t.test('bytes of an entry are made once, and not kept where there are none', async t => {
  const cache = cacheOf()
  let made = 0
  const make = (bytes: Uint8Array | NotExact) => () => {
    made++
    return bytes
  }
  t.equal(keptOfEntry(entries[0]!, 'a', cache, make(bad)), bad)
  t.equal(cache.count, 0)
  const bytes = Buffer.from('abc')
  for (let i = 0; i < 2; i++) t.equal(keptOfEntry(entries[0]!, 'a', cache, make(bytes)), bytes)
  t.equal(made, 2)
  t.equal(cache.bytes, 3 + overheadBytes)
})

t.test('a list spares three times itself where it is larger than what may be kept', async t => {
  const size = new ExpectedSize(10, 1000)
  t.equal(size.sparedBytes, 0)
  size.add(1, 100)
  t.equal(size.sparedBytes, 0, 'it fits')
  size.add(1, 102)
  t.equal(size.sparedBytes, 3 * 1010)
  t.equal(new ExpectedSize(10).sparedBytes, 0)
})

t.test('runs of picked entries are of 64', async t => {
  const many = Array.from({ length: 129 }, () => entries[0]!)
  t.strictSame(
    runsOfEntries(many).map(({ from, to, leaf }) => [from, to, leaf]),
    [
      [0, 64, undefined],
      [64, 128, undefined],
      [128, 129, undefined],
    ],
  )
  t.strictSame(runsOfEntries([]), [])
})
