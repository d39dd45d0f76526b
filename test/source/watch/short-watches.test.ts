import t from 'tap'
import { defaultWatchLimits } from '../../../lib/source/watch/limits.ts'
import { ShortWatches } from '../../../lib/source/watch/short-watches.ts'
import { FakeClock } from '../../support/fake-clock.ts'

interface Opened {
  readonly clock: FakeClock
  readonly shorts: ShortWatches
  /** The moments at which one was opened. */
  readonly atMs: number[]
}

function start(): Opened {
  const clock = new FakeClock(0)
  const atMs: number[] = []
  const shorts = new ShortWatches({
    clock,
    limits: defaultWatchLimits,
    open: () => void atMs.push(clock.monotonicMs()),
  })
  return { clock, shorts, atMs }
}

t.test(
  'the first asker has one opened at once, and nobody else until a second is over',
  async t => {
    const { clock, shorts, atMs } = start()
    shorts.ask()
    shorts.ask()
    await clock.advance(200)
    shorts.ask()
    t.strictSame(atMs, [0])
  },
)

t.test('as long as somebody waits there is one each second', async t => {
  const { clock, shorts, atMs } = start()
  for (let i = 0; i < 12; i++) {
    shorts.ask()
    await clock.advance(250)
  }
  t.strictSame(atMs, [0, 1000, 2000, 3000])
})

t.test('whoever has been answered has no more opened', async t => {
  const { clock, shorts, atMs } = start()
  shorts.ask()
  await clock.advance(300)
  shorts.answered()
  await clock.advance(60_000)
  t.strictSame(atMs, [0])
  t.equal(clock.pendingTimers, 0)
})

t.test('an asker just after a bookmark gets one of its own', async t => {
  const { clock, shorts, atMs } = start()
  shorts.ask()
  await clock.advance(300)
  shorts.answered()
  shorts.ask()
  await clock.advance(700)
  t.strictSame(atMs, [0, 1000])
})

t.test('where no bookmarks come, it ends', async t => {
  const { clock, shorts, atMs } = start()
  shorts.ask()
  await clock.advance(60_000)
  t.ok(atMs.length <= 7, `${atMs.length} were opened`)
  t.equal(clock.pendingTimers, 0)
})

t.test('for askers one after the other it is opened before they come', async t => {
  const { clock, shorts, atMs } = start()
  for (let i = 0; i < 4; i++) {
    shorts.ask()
    await clock.advance(100)
    shorts.answered()
    await clock.advance(1900)
  }
  t.ok(atMs.length >= 6, `${atMs.length} were opened in 8 s`)
  await clock.advance(60_000)
  t.equal(clock.pendingTimers, 0)
})
