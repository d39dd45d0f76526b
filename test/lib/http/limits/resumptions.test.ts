import t from 'tap'
import { Resumptions } from '../../../../lib/http/limits/resumptions.ts'
import { settle } from '../../../support/fake-clock.ts'

t.test(
  'what has waited for the same answer goes on for a millisecond, and then in turns',
  async t => {
    let nowMs = 0
    const yields: (() => void)[] = []
    const clock = {
      monotonicMs: () => nowMs,
      yield: () => new Promise<void>(resolve => yields.push(resolve)),
    }
    const resumptions = new Resumptions(clock)
    t.equal(resumptions.next(), undefined)
    nowMs = 0.9
    t.equal(resumptions.next(), undefined, 'at once, as long as there is time')
    nowMs = 1
    const late = resumptions.next()
    t.equal(yields.length, 1)
    yields[0]?.()
    await late
    await settle()
    t.equal(resumptions.next(), undefined, 'in another turn of the event loop there is time again')
  },
)
