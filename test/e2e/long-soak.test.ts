/** The judgement of `npm run soak -- --minutes 30`; the soak itself takes minutes and a cluster of
 *  three. */

import t from 'tap'
import { sawtoothTrendOf, trendOf } from './soak/long/flatness.ts'

t.test('what grows is told from what goes up and down', async t => {
  const samplesOf = (values: readonly number[]): { atMs: number; value: number }[] =>
    values.map((value, i) => ({ atMs: i * 60_000, value }))
  t.match(trendOf(samplesOf([100, 104, 99, 103, 100, 104])), { isFlat: true, mean: 610 / 6 })
  t.match(trendOf(samplesOf([100, 102, 104, 106, 108, 110])), { isFlat: false, perHour: 120 })
  t.match(trendOf(samplesOf([110, 108, 106, 104, 102, 100])), { isFlat: true })
  t.equal(trendOf(samplesOf([1, 2])), undefined)
  t.equal(sawtoothTrendOf(samplesOf([1, 2])), undefined)
})

t.test('teeth of a saw are no growth, and hide none', async t => {
  const teeth = (height: number, perSample: number): { atMs: number; value: number }[] =>
    Array.from({ length: 120 }, (_, i) => ({
      atMs: i * 10_000,
      value: 400 + perSample * i + (height * (i % 110)) / 110,
    }))
  t.match(trendOf(teeth(70, 0)), { isFlat: false })
  t.match(sawtoothTrendOf(teeth(70, 0)), { isFlat: true })
  t.match(sawtoothTrendOf(teeth(70, 0.5)), { isFlat: false })
  t.match(sawtoothTrendOf(teeth(0, 0.5)), { isFlat: false })
})
