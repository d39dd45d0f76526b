import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { SegmentCache, type SegmentHolder } from '../../lib/store/segments.ts'

interface Encoded {
  readonly text: string
}

t.test('a leaf keeps one segment for each encoding', async t => {
  const segments = new SegmentCache<Encoded>(1000)
  const leaf = emptyLeaf()
  segments.set(leaf, 'json', { text: 'j' }, 10)
  segments.set(leaf, 'protobuf', { text: 'p' }, 20)
  t.equal(segments.get(leaf, 'json')?.text, 'j')
  t.equal(segments.get(leaf, 'protobuf')?.text, 'p')
  t.equal(segments.get(leaf, 'cbor'), undefined)
  segments.set(leaf, 'json', { text: 'k' }, 11)
  t.equal(segments.get(leaf, 'json')?.text, 'k')
  t.equal(segments.bytes, 31)
  t.equal(segments.count, 2)
})

t.test('what was not asked for the longest is dropped when the budget is exceeded', async t => {
  const segments = new SegmentCache<Encoded>(30)
  const [a, b, c] = [emptyLeaf(), emptyLeaf(), emptyLeaf()]
  segments.set(a, 'json', { text: 'a' }, 10)
  segments.set(b, 'json', { text: 'b' }, 10)
  segments.get(a, 'json')
  segments.set(c, 'json', { text: 'c' }, 20)
  t.equal(segments.get(b, 'json'), undefined)
  t.equal(segments.get(a, 'json')?.text, 'a')
  t.equal(segments.get(c, 'json')?.text, 'c')
  segments.dropTo(0)
  t.equal(segments.bytes, 0)
  t.equal(segments.count, 0)
  t.equal(segments.get(c, 'json'), undefined)
})

t.test('what was not used for some periods is dropped, a bounded number at a time', async t => {
  const segments = new SegmentCache<Encoded>(1000)
  const [a, b, c] = [emptyLeaf(), emptyLeaf(), emptyLeaf()]
  for (const leaf of [a, b, c]) segments.set(leaf, 'json', { text: 'x' }, 10)
  segments.nextPeriod(2, 100)
  segments.get(b, 'json')
  segments.nextPeriod(2, 100)
  t.equal(segments.count, 3)
  segments.nextPeriod(2, 1)
  t.equal(segments.count, 2, 'no more than one at a time')
  t.equal(segments.get(a, 'json'), undefined)
  segments.nextPeriod(2, 100)
  t.equal(segments.count, 0)
  segments.set(a, 'json', { text: 'y' }, 10)
  for (let i = 0; i < 5; i++) {
    segments.nextPeriod(2, 100)
    t.equal(segments.get(a, 'json')?.text, 'y', 'what is used stays')
  }
  t.equal(segments.bytes, 10)
})

t.test('what exceeds the whole budget is not kept, and replaces what was', async t => {
  const segments = new SegmentCache<Encoded>(30)
  const [a, b] = [emptyLeaf(), emptyLeaf()]
  segments.set(a, 'json', { text: 'a' }, 10)
  segments.set(b, 'json', { text: 'b' }, 10)
  segments.set(b, 'json', { text: 'too much' }, 31)
  t.equal(segments.get(a, 'json')?.text, 'a')
  t.equal(segments.get(b, 'json'), undefined)
  t.equal(segments.bytes, 10)
})

t.test('the cache keeps no leaf alive', async t => {
  const segments = new SegmentCache<Encoded>(30)
  segments.set(emptyLeaf(), 'json', { text: 'a' }, 10)
  t.notOk(reaches(segments, value => 'segments' in value))
})

const leaves = 6
const encodings = ['json', 'protobuf', 'cbor']

t.test('any sequence of uses leaves what a list in order of use would', async () => {
  const use = fc.record({
    leaf: fc.nat({ max: leaves - 1 }),
    encoding: fc.constantFrom(...encodings),
    bytes: fc.option(fc.nat({ max: 12 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(use, { maxLength: 100 }), fc.nat({ max: 40 }), (uses, maxBytes) => {
      const segments = new SegmentCache<Encoded>(maxBytes)
      const holders = Array.from({ length: leaves }, emptyLeaf)
      let model: { readonly id: string; readonly bytes: number; readonly text: string }[] = []
      for (const [i, { leaf, encoding, bytes }] of uses.entries()) {
        const id = `${leaf} ${encoding}`
        const known = model.find(item => item.id === id)
        model = model.filter(item => item !== known)
        if (bytes === undefined) {
          assert.equal(segments.get(holders[leaf]!, encoding)?.text, known?.text)
          if (known !== undefined) model.push(known)
        } else {
          segments.set(holders[leaf]!, encoding, { text: String(i) }, bytes)
          if (bytes <= maxBytes) model.push({ id, bytes, text: String(i) })
        }
        while (sumOf(model) > maxBytes) model.shift()
        assert.equal(segments.bytes, sumOf(model))
        assert.equal(segments.count, model.length)
      }
    }),
  )
})

t.test('who goes through more than fits, again and again, finds what was kept first', async t => {
  const segments = new SegmentCache<Encoded>(100)
  const holders = Array.from({ length: 15 }, emptyLeaf)
  const goThrough = (sparedBytes: number): number => {
    let found = 0
    for (const leaf of holders) {
      if (segments.get(leaf, 'json') !== undefined) found++
      else if (segments.hasRoom(10, sparedBytes)) segments.set(leaf, 'json', { text: '' }, 10)
    }
    return found
  }
  goThrough(0)
  t.equal(goThrough(0), 0, 'each is evicted before it is needed again')
  for (let i = 0; i < 5; i++) t.equal(goThrough(450), 10)
  t.equal(segments.bytes, 100)
  const other = emptyLeaf()
  segments.set(other, 'json', { text: 'small' }, 10)
  t.equal(segments.get(other, 'json')?.text, 'small', 'others replace what was used least recently')
  t.ok(goThrough(450) >= 8)
})

t.test('what is not used any more makes room in the end', async t => {
  const segments = new SegmentCache<Encoded>(100)
  const old = Array.from({ length: 10 }, emptyLeaf)
  for (const leaf of old) segments.set(leaf, 'json', { text: 'old' }, 10)
  const holders = Array.from({ length: 15 }, emptyLeaf)
  let found = 0
  for (let round = 0; round < 6; round++) {
    found = 0
    for (const leaf of holders) {
      if (segments.get(leaf, 'json') !== undefined) found++
      else if (segments.hasRoom(10, 450)) segments.set(leaf, 'json', { text: '' }, 10)
    }
  }
  t.equal(found, 10)
  t.ok(old.every(leaf => segments.get(leaf, 'json') === undefined))
})

t.test('what is not kept any more, or never was, is told of', async t => {
  let dropped = 0
  const segments = new SegmentCache<Encoded>(100, bytes => (dropped += bytes))
  const leaf = emptyLeaf()
  segments.set(leaf, 'json', { text: 'a' }, 40)
  segments.set(emptyLeaf(), 'json', { text: 'b' }, 50)
  t.equal(dropped, 0)
  segments.set(leaf, 'json', { text: 'c' }, 20)
  t.equal(dropped, 40, 'replaced')
  segments.set(emptyLeaf(), 'json', { text: 'd' }, 60)
  t.equal(dropped, 90, 'evicted')
  segments.set(emptyLeaf(), 'json', { text: 'e' }, 101)
  t.equal(dropped, 191, 'too large')
})

function emptyLeaf(): SegmentHolder {
  return {}
}

function sumOf(items: readonly { readonly bytes: number }[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Whether an object that `matches` can be reached from the segments of a cache. */
function reaches(segments: SegmentCache<Encoded>, matches: (value: object) => boolean): boolean {
  const leaf = emptyLeaf()
  segments.set(leaf, 'probe', { text: 'probe' }, 1)
  const seen = new Set<object>()
  const visit = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return false
    seen.add(value)
    return matches(value) || Object.values(value).some(visit)
  }
  return visit(leaf.segments)
}
