import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { startChurn, parseRate } from '../../../lib/simulator/generate/churn.ts'
import { GeneratedCluster } from '../../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { FakeClock } from '../../support/fake-clock.ts'

function churning(onWrite: () => Promise<void> = async () => {}): {
  clock: FakeClock
  written: () => number
  failures: string[]
  stop: () => void
} {
  const clock = new FakeClock()
  const failures: string[] = []
  let count = 0
  const stop = startChurn({
    cluster: new GeneratedCluster({
      plan: parsePlan('nodes=5'),
      random: createRandom(1),
      nowMs: 0,
      prefix: '/registry',
    }),
    changesPerSecond: 100,
    clock,
    write: async step => {
      count += step.changes.length
      await onWrite()
    },
    onFailure: ({ message }) => failures.push(message),
  })
  return { clock, written: () => count, failures, stop }
}

t.test('changes come at the rate asked for, until they are stopped', async t => {
  const { clock, written, stop } = churning()
  for (let i = 0; i < 100; i++) {
    await clock.advance(20)
  }
  t.equal(written(), 200)
  stop()
  await clock.advance(1_000)
  t.equal(written(), 200)
  t.equal(clock.pendingTimers, 0)
})

t.test('a long stall is not made up for by a burst', async t => {
  let release = (): void => {}
  const stalled = new Promise<void>(resolve => (release = resolve))
  const { clock, written, stop } = churning(() => stalled)
  await clock.advance(60_000)
  t.equal(written(), 1)
  release()
  await clock.advance(20)
  stop()
  t.ok(written() <= 2 + 100 + 2, `${written()} changes`)
})

t.test('a failed write is reported, and churn goes on', async t => {
  const { clock, written, failures, stop } = churning(() => Promise.reject(new Error('no space')))
  await clock.advance(20)
  await clock.advance(20)
  stop()
  t.equal(written(), 4)
  t.strictSame(failures, ['no space', 'no space', 'no space', 'no space'])
})

t.test('a rate is a number of changes a second', async t => {
  t.equal(parseRate('100/s'), 100)
  t.equal(parseRate('0.5/s'), 0.5)
  for (const text of ['100', '0/s', '-1/s', '1/m', '1000000/s', '']) {
    t.throws(() => parseRate(text), { code: 'invalid_request', message: /such as 100\/s/ })
  }
})
