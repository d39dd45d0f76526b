import t from 'tap'
import { type Clock, sleep } from '../../lib/base/clock.ts'

/** A clock whose only timer fires when told to. */
function manualClock(): { clock: Clock; fire: () => void; pending: () => number } {
  const tasks = new Set<() => void>()
  const clock: Clock = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    setTimer(_delayMs, task) {
      tasks.add(task)
      return () => void tasks.delete(task)
    },
    yield: async () => {},
  }
  return { clock, fire: () => tasks.forEach(task => task()), pending: () => tasks.size }
}

t.test('a sleep ends when its time has come', async t => {
  const { clock, fire, pending } = manualClock()
  const slept = sleep(clock, 1000)
  fire()
  await slept
  t.equal(pending(), 0)
})

t.test('a sleep ends at once when it is aborted, and leaves no timer', async t => {
  const { clock, pending } = manualClock()
  const abort = new AbortController()
  const slept = sleep(clock, 1000, abort.signal)
  abort.abort()
  await slept
  await sleep(clock, 1000, abort.signal)
  t.equal(pending(), 0)
})
