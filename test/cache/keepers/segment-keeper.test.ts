import t from 'tap'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { SegmentKeeper } from '../../../lib/cache/keepers/segment-keeper.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test('encoded objects that nobody asks for go after five minutes', async t => {
  const clock = new FakeClock()
  const segments = new SegmentCache<object>(1000)
  const keeper = new SegmentKeeper(segments, clock, () => 0)
  keeper.start()
  const [used, unused] = [{}, {}]
  for (const leaf of [used, unused]) segments.set(leaf, 'json', {}, 10)
  for (let minute = 0; minute < 6; minute++) {
    await clock.advance(60_000)
    segments.get(used, 'json')
    if (minute === 3) t.equal(segments.count, 2)
  }
  t.equal(segments.count, 1)
  t.ok(segments.get(used, 'json'))
  keeper.stop()
  await clock.advance(600_000)
  t.ok(segments.get(used, 'json'), 'until it is stopped')
})

t.test('objects that change while they are listed have no more than they may need', async t => {
  const clock = new FakeClock()
  const mebibyte = 1024 * 1024
  const segments = new SegmentCache<object>(1024 * mebibyte)
  let contents = 5 * mebibyte
  const keeper = new SegmentKeeper(segments, clock, () => contents)
  keeper.start()
  /** Each list of a leaf that has changed makes another one. */
  const minutes = async (count: number): Promise<void> => {
    for (let i = 0; i < 30 * count; i++) {
      await clock.advance(2_000)
      segments.set({}, 'json', {}, 2 * mebibyte)
    }
  }
  await minutes(5)
  t.equal(segments.maxBytes, 28.5 * mebibyte)
  t.equal(segments.bytes, 28 * mebibyte)
  contents = 20 * mebibyte
  await minutes(5)
  t.equal(segments.bytes, 66 * mebibyte)
  contents = 0
  await clock.advance(1_000)
  t.ok(segments.maxBytes > 62 * mebibyte, 'what is being counted may be there')
  await clock.advance(60_000)
  t.equal(segments.maxBytes, 16 * mebibyte)
  contents = 2 ** 40
  await clock.advance(1_000)
  t.equal(segments.maxBytes, 1024 * mebibyte, 'never more than the budget')
  keeper.stop()
})
