import t from 'tap'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { SegmentKeeper } from '../../../lib/upkeep/segment-keeper.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test('encoded objects that nobody asks for go after five minutes', async t => {
  const clock = new FakeClock()
  const segments = new SegmentCache<object>(1000)
  const keeper = new SegmentKeeper(segments, clock)
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
