import t from 'tap'
import { inSlices, Slice, type Steps } from '../../lib/base/slice.ts'
import { FakeClock } from '../support/fake-clock.ts'

class CountingClock extends FakeClock {
  yields = 0
  override yield(): Promise<void> {
    this.yields++
    return super.yield()
  }
}

t.test('a slice is over when its time is, and not before', async t => {
  const clock = new CountingClock()
  const slice = new Slice(clock, 3)
  t.notOk(slice.isOver)
  await clock.advance(2)
  t.notOk(slice.isOver)
  await clock.advance(1)
  t.ok(slice.isOver)
  t.equal(clock.yields, 0, 'who works gives way, and not the slice by itself')
})

t.test('the next slice begins when others have had their turn', async t => {
  const clock = new CountingClock()
  clock.yield = async () => clock.advance(100)
  const slice = new Slice(clock)
  await clock.advance(4)
  t.ok(slice.isOver)
  await slice.next()
  t.notOk(slice.isOver)
  await clock.advance(4)
  t.ok(slice.isOver)
})

t.test('steps are taken in slices, and the last one has the result', async t => {
  class StepClock extends CountingClock {
    nowMs = 0
    override monotonicMs(): number {
      return this.nowMs
    }
  }
  const clock = new StepClock()
  function* steps(count: number): Steps<number> {
    for (let i = 0; i < count; i++) {
      clock.nowMs++
      yield
    }
    return count
  }
  t.equal(await inSlices(steps(2), clock), 2)
  t.equal(clock.yields, 0)
  t.equal(await inSlices(steps(10), clock), 10)
  t.equal(clock.yields, 3)
})
