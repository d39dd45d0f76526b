import t from 'tap'
import { type Look, quantile, Recent } from '../../../lib/cache/ops/recent.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test('a quantile is estimated within its bucket', t => {
  const bounds = [1, 2, 4]
  t.equal(quantile(0.5, bounds, [0, 0, 0, 0]), undefined)
  t.equal(quantile(0.5, bounds, [10, 0, 0, 0]), 0.5)
  t.equal(quantile(0.5, bounds, [0, 0, 10, 0]), 3)
  t.equal(quantile(0.99, bounds, [50, 0, 0, 50]), 4, 'above all bounds: the last one')
  t.equal(quantile(0.75, bounds, [2, 2, 0, 0]), 1.5)
  t.end()
})

t.test('rates and percentiles are those of each step, for ten minutes', async t => {
  const clock = new FakeClock()
  let count = 0
  const look = (): Look => ({
    requests: new Map([['mirror', count]]),
    events: new Map([['from etcd', 2 * count]]),
    buckets: new Map([['get', { bounds: [1, 2], counts: [count, 0, 0] }]]),
    lags: [0, 0, 3],
  })
  const recent = new Recent({ clock, look })
  recent.start()
  t.strictSame(recent.requests.get('mirror'), undefined)
  count = 50
  await clock.advance(5_000)
  await clock.advance(5_000)
  const rates = recent.requests.get('mirror')
  t.equal(rates?.length, 24, 'a young process shows two minutes')
  t.strictSame(rates?.slice(-3), [undefined, 10, 0])
  t.strictSame(recent.events.get('from etcd')?.slice(-2), [20, 0])
  t.strictSame(recent.percentiles('get').p50.slice(-2), [0.5, undefined])
  t.strictSame(recent.percentiles('list').p50.slice(-1), [undefined])
  t.strictSame([recent.lag.p50.at(-1), recent.lag.p99.at(-1)], [0, 3])
  for (let i = 0; i < 200; i++) await clock.advance(5_000)
  t.equal(recent.requests.get('mirror')?.length, 120)
  recent.stop()
})
