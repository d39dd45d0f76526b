import t from 'tap'
import { Pause, retryAfterMs } from '../../lib/base/pause.ts'
import { FakeClock } from '../support/fake-clock.ts'

const bounds = { firstMs: 100, maxMs: 400 }
const latest = { next: () => 1 }

t.test('after a pause one question finds out whether there are answers again', async t => {
  const clock = new FakeClock()
  const pause = new Pause(clock, latest, bounds)
  t.ok(pause.mayAsk)
  pause.begins(0)
  t.equal(pause.leftMs, 100)
  t.notOk(pause.mayAsk)
  await clock.advance(100)
  t.ok(pause.mayAsk)
  pause.begin()
  t.notOk(pause.mayAsk, 'a question is under way')
  pause.begins(0)
  t.equal(pause.leftMs, 200, 'pauses grow')
  await clock.advance(200)
  pause.begin()
  pause.giveUp()
  t.ok(pause.mayAsk, 'it has told nothing')
  pause.end()
  t.notOk(pause.isOn)
  pause.begins(0)
  t.equal(pause.leftMs, 400, 'an answer alone does not make them short')
  pause.end()
  pause.reset()
  pause.begins(0)
  t.equal(pause.leftMs, 100)
})

t.test('of several failures at once the first counts, and Retry-After is bounded', async t => {
  const clock = new FakeClock()
  const pause = new Pause(clock, latest, bounds)
  pause.begins(1_000)
  pause.begins(5_000)
  t.equal(pause.leftMs, 1_100)
  await clock.advance(1_100)
  pause.begins(3_600_000)
  t.equal(pause.leftMs, 30_200)
})

t.test('Retry-After is read in seconds', async t => {
  t.same(
    ['3', undefined, '-1', 'Wed, 21 Oct 2015 07:28:00 GMT', ['1', '2'], '1234567'].map(
      retryAfterMs,
    ),
    [3_000, undefined, undefined, undefined, undefined, undefined],
  )
})
