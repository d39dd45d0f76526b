import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { KeyedTimers } from '../../../lib/simulator/runtime/keyed-timers.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

t.test('what ends after the stop sets no timer, which would keep the process alive', async t => {
  let set = 0
  const clock = {
    ...systemClock,
    setTimer: () => {
      set++
      return () => set--
    },
  }
  const timers = new KeyedTimers(clock)
  timers.set(keyFromText('a'), 1_000, () => {})
  t.equal(set, 1)
  timers.stop()
  t.equal(set, 0)
  timers.set(keyFromText('b'), 1_000, () => {})
  t.equal(set, 0)
})
