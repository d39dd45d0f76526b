import t from 'tap'
import { revision } from '../../../../lib/base/revision.ts'
import { Watchdog } from '../../../../lib/cache/mirror/feed/watchdog.ts'
import { defaultLimits } from '../../../../lib/cache/mirror/limits.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const minuteMs = 60_000

function watched(t: { teardown(task: () => void): void }) {
  const clock = new FakeClock()
  const seen = { verdicts: [] as string[], asked: 0, isStartAhead: true }
  const watchdog: Watchdog = new Watchdog({
    clock,
    limits: defaultLimits,
    ask() {
      seen.asked++
      watchdog.asked()
    },
    giveUp: verdict => seen.verdicts.push(verdict),
    progress: () => revision(5),
    known: () => undefined,
    isStartAhead: () => seen.isStartAhead,
  })
  t.teardown(() => watchdog.stop())
  watchdog.heard('created')
  return { clock, seen, watchdog }
}

t.test('a watch that begins above an idle etcd is not given up for its silence', async t => {
  const { clock, seen } = watched(t)
  for (let i = 0; i < 60; i++) await clock.advance(minuteMs)
  t.strictSame(seen.verdicts, [])
  t.ok(seen.asked > 10, 'it is asked all the while')
})

t.test('once etcd has reached its start, silence counts from then on', async t => {
  const { clock, seen } = watched(t)
  for (let i = 0; i < 10; i++) await clock.advance(minuteMs)
  seen.isStartAhead = false
  await clock.advance(defaultLimits.answerMaxMs / 2)
  t.strictSame(seen.verdicts, [], 'not at once')
  for (let i = 0; i < 10; i++) await clock.advance(minuteMs)
  t.strictSame(seen.verdicts, ['silent'])
})
