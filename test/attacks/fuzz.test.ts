/** Small runs of `npm run fuzz`: as many requests as a few seconds take. */

import t from 'tap'
import { fuzzWrites } from '../support/fuzz/fuzz-writes.ts'
import { fuzzValues } from '../support/fuzz/fuzz-values.ts'
import { fuzz } from '../support/fuzz/fuzz.ts'

t.test('made-up requests end nothing, hide nothing, and name nobody', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --requests 5000 --seed ${seed}`)
  const report = await fuzz(t, { requests: 5_000, seed, maxMs: 2_500 })
  t.comment(JSON.stringify(report.statuses))
  t.strictSame(report.findings, [])
  t.ok(report.sent > 100)
})

t.test(
  'odd objects are refused as the fault of the client, or stored so that they can be read',
  async t => {
    const seed = Date.now() % 1_000_000
    t.comment(`seed ${seed}: npm run fuzz -- --what writes --requests 2000 --seed ${seed}`)
    const report = await fuzzWrites({ requests: 2_000, seed, maxMs: 3_000 })
    t.strictSame(report.findings, [])
    t.ok(report.stored > 10, `${report.stored} of ${report.sent} were stored`)
  },
)

t.test('stored values, lines and certificates are read, or refused with a reason', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --what values --requests 5000 --seed ${seed}`)
  const report = fuzzValues({ requests: 5_000, seed, maxMs: 2_000 })
  t.strictSame(report.findings, [])
  t.ok(report.read > 10, `${report.read} of ${report.sent} could be read`)
})
