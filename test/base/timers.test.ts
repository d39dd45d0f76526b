import t from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { IdleTimer, withTimeLimit } from '../../lib/base/timers.ts'
import { FakeClock } from '../support/fake-clock.ts'

const late = (): CacheError => new CacheError('upstream_failed', 'late')

/** Ends when its signal is aborted. */
function endless(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(new Error('aborted'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}

t.test('a task that takes too long is ended, and fails as late', async t => {
  const clock = new FakeClock()
  const limited = withTimeLimit({ clock, maxMs: 100, late }, endless)
  const failed = t.rejects(limited, { message: 'late' })
  await clock.advance(99)
  t.equal(clock.pendingTimers, 1)
  await clock.advance(1)
  await failed
  t.equal(clock.pendingTimers, 0)
})

t.test('a task that ends in time keeps what it gave, and leaves no timer', async t => {
  const clock = new FakeClock()
  t.equal(await withTimeLimit({ clock, maxMs: 100, late }, async () => 7), 7)
  const failure = new Error('of its own')
  const failing = withTimeLimit({ clock, maxMs: 100, late }, () => Promise.reject(failure))
  t.equal(await failing.catch((error: unknown) => error), failure)
  t.equal(clock.pendingTimers, 0)
})

t.test('a task ends with the signal of whoever asked, and is not late then', async t => {
  const clock = new FakeClock()
  const asker = new AbortController()
  const { signal } = asker
  const limited = withTimeLimit({ clock, maxMs: 100, signal, late }, endless)
  const failed = t.rejects(limited, { message: 'aborted' })
  asker.abort()
  await failed
  await t.rejects(withTimeLimit({ clock, maxMs: 100, signal, late }, endless), {
    message: 'aborted',
  })
  t.equal(clock.pendingTimers, 0)
})

t.test('what is not used for a while is noticed, again and again, until it is stopped', async t => {
  const clock = new FakeClock()
  let rings = 0
  const idle = new IdleTimer(clock, 100, () => rings++)
  await clock.advance(90)
  idle.used()
  await clock.advance(99)
  t.equal(rings, 0)
  t.equal(clock.pendingTimers, 1)
  await clock.advance(1)
  t.equal(rings, 1)
  await clock.advance(100)
  t.equal(rings, 2)
  idle.stop()
  t.equal(clock.pendingTimers, 0)
})

t.test('nothing rings while a use goes on', async t => {
  const clock = new FakeClock()
  let rings = 0
  const idle = new IdleTimer(clock, 100, () => rings++)
  const ends = [idle.begin(), idle.begin()]
  await clock.advance(250)
  ends[0]!()
  await clock.advance(250)
  t.equal(rings, 0)
  ends[1]!()
  await clock.advance(99)
  t.equal(rings, 0)
  await clock.advance(1)
  t.equal(rings, 1)
  idle.stop()
})

t.test('one that is stopped as it rings does not ring again', async t => {
  const clock = new FakeClock()
  const idle: IdleTimer = new IdleTimer(clock, 100, () => idle.stop())
  await clock.advance(100)
  t.equal(clock.pendingTimers, 0)
})
