import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { Bookmarks } from '../../lib/watch/bookmarks.ts'

/** When each bookmark of a watcher falls due, asked every second. */
function timesOf(bookmarks: Bookmarks<string>, watcher: string, untilMs: number): number[] {
  const times: number[] = []
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 1_000) {
    if (bookmarks.take(nowMs).includes(watcher)) times.push(nowMs)
  }
  return times
}

t.test('a watcher is due about once a minute, and once before its end', async t => {
  const bookmarks = new Bookmarks<string>(createRandom(1))
  bookmarks.add('a', 0, 150_000)
  const times = timesOf(bookmarks, 'a', 200_000)
  t.equal(times.length, 3)
  t.ok(times[0]! >= 55_000 && times[0]! <= 60_000)
  t.ok(times[1]! - times[0]! >= 55_000 && times[1]! - times[0]! <= 60_000)
  t.equal(times[2], 148_000)
})

t.test('a watch that ends sooner than a bookmark can be made is never due', async t => {
  const bookmarks = new Bookmarks<string>(createRandom(1))
  bookmarks.add('a', 0, 1_500)
  t.equal(bookmarks.nextMs(), undefined)
  t.strictSame(timesOf(bookmarks, 'a', 100_000), [])
})

t.test('watchers that begin together are not all due together', async t => {
  const bookmarks = new Bookmarks<number>(createRandom(1))
  for (let i = 0; i < 100; i++) bookmarks.add(i, 0, 3_600_000)
  const inOneSecond = bookmarks.take(56_000).length
  t.ok(inOneSecond > 0 && inOneSecond < 60, `${inOneSecond} in the first second`)
  t.equal(inOneSecond + bookmarks.take(60_000).length, 100)
})

t.test('a deleted watcher is not due any more', async t => {
  const bookmarks = new Bookmarks<string>(createRandom(1))
  bookmarks.add('a', 0, 3_600_000)
  bookmarks.delete('a')
  bookmarks.delete('a')
  t.equal(bookmarks.nextMs(), undefined)
  t.strictSame(bookmarks.take(3_600_000), [])
})
