/** A small run of `npm run fuzz`: as many requests as a few seconds take. */

import t from 'tap'
import { fuzz } from '../support/fuzz/fuzz.ts'

t.test('made-up requests end nothing, hide nothing, and name nobody', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --requests 5000 --seed ${seed}`)
  const report = await fuzz(t, { requests: 5_000, seed, maxMs: 2_500 })
  t.comment(JSON.stringify(report.statuses))
  t.strictSame(report.findings, [])
  t.ok(report.sent > 100)
})
