import t from 'tap'
import { StreamPace } from '../../../lib/etcd-server/pass/stream-pace.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test(
  'five hundred streams are opened at once, then 25 a second, and owners take turns',
  async t => {
    const clock = new FakeClock()
    const pace = new StreamPace(clock)
    const opened: string[] = []
    const [a, b] = [{}, {}]
    for (let i = 0; i < 503; i++) pace.next(a, () => opened.push(`a${i}`))
    pace.next(b, () => opened.push('b0'))
    t.equal(opened.splice(0).length, 500)
    for (const next of ['a500', 'b0', 'a501', 'a502']) {
      await clock.advance(40)
      t.equal(opened.splice(0).join(' '), next)
    }
    await clock.advance(1_000)
    t.equal(clock.pendingTimers, 0)
    for (let i = 0; i < 100; i++) pace.next(a, () => opened.push(`a${i}`))
    t.equal(opened.length, 25, 'what may be opened is saved')
    pace.stop()
    t.equal(clock.pendingTimers, 0)
  },
)
