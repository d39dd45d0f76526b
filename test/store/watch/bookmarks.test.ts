import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { bookmarkDueMs } from '../../../lib/store/watch/bookmarks.ts'

/** When the bookmarks of a watch fall due that begins at 0. */
function dues(endsAtMs: number, seed = 1): number[] {
  const random = createRandom(seed)
  const times: number[] = []
  let next = bookmarkDueMs(random, 0, endsAtMs)
  for (; next !== undefined; next = bookmarkDueMs(random, next, endsAtMs)) times.push(next)
  return times
}

t.test('a watch is due a bookmark about once a minute, and once before its end', async t => {
  const [first = 0, second = 0, ...last] = dues(150_000)
  t.ok(first >= 55_000 && first <= 60_000)
  t.ok(second - first >= 54_000 && second - first <= 60_000)
  t.strictSame(last, [148_000])
})

t.test('or about once in the interval that is chosen', async t => {
  const next = bookmarkDueMs(createRandom(1), 0, 150_000, 15_000)!
  t.ok(next >= 13_000 && next <= 15_000)
})

t.test('a watch that ends sooner than a bookmark can be made is never due', async t => {
  t.strictSame(dues(2_000), [])
  t.strictSame(dues(2_500), [500])
})

t.test('watches that begin together are not all due together', async t => {
  const first = Array.from({ length: 100 }, (_, seed) => dues(3_600_000, seed)[0]!)
  t.ok(new Set(first).size >= 5)
  const shares = first.filter(atMs => atMs % 1000 === 0)
  t.equal(shares.length, 100, 'those of one second are due together, and share a progress request')
})
