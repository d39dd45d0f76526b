import t from 'tap'
import { EndingClock } from '../../lib/simulator/ending-clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

t.test('a clock that has ended fires nothing, and takes nothing more', async t => {
  const clock = new FakeClock()
  const ending = new EndingClock(clock)
  let fired = 0
  ending.setTimer(10, () => fired++)
  const cancel = ending.setTimer(10, () => fired++)
  ending.setTimer(50, () => fired++)
  cancel()
  await clock.advance(20)
  t.equal(fired, 1)
  t.equal(clock.pendingTimers, 1)
  ending.end()
  t.equal(clock.pendingTimers, 0)
  ending.setTimer(10, () => fired++)()
  ending.setTimer(10, () => fired++)
  t.equal(clock.pendingTimers, 0)
  await clock.advance(100)
  t.equal(fired, 1)
})
