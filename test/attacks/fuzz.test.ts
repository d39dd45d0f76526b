/** Small runs of `npm run fuzz`: so many requests as take seconds, however busy the machine is. */

import t from 'tap'
import { fuzzWrites } from '../support/fuzz/fuzz-writes.ts'
import { fuzzValues } from '../support/fuzz/fuzz-values.ts'
import { fuzzEtcdServer } from '../support/fuzz/fuzz-etcd-server.ts'
import { fuzzFrames } from '../support/fuzz/fuzz-frames.ts'
import { fuzz } from '../support/fuzz/fuzz.ts'

t.test('made-up requests end nothing, hide nothing, and name nobody', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --requests 100 --seed ${seed}`)
  const report = await fuzz(t, { requests: 100, seed })
  t.comment(JSON.stringify(report.statuses))
  t.strictSame(report.findings, [])
  t.equal(report.sent, 100)
})

t.test(
  'odd objects are refused as the fault of the client, or stored so that they can be read',
  async t => {
    const seed = Date.now() % 1_000_000
    t.comment(`seed ${seed}: npm run fuzz -- --what writes --requests 50 --seed ${seed}`)
    const report = await fuzzWrites({ requests: 50, seed })
    t.strictSame(report.findings, [])
    t.ok(report.stored > 0, `${report.stored} of ${report.sent} were stored`)
  },
)

t.test('stored values, lines and certificates are read, or refused with a reason', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --what values --requests 250 --seed ${seed}`)
  const report = fuzzValues({ requests: 250, seed })
  t.strictSame(report.findings, [])
  t.ok(report.read > 0, `${report.read} of ${report.sent} could be read`)
})

t.test('calls of etcd’s API end, and nobody goes beyond limited rights', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --what etcd-server --requests 100 --seed ${seed}`)
  const report = await fuzzEtcdServer(t, { requests: 100, seed })
  t.comment(JSON.stringify(report.statuses))
  t.strictSame(report.findings, [])
  t.equal(report.sent, 100)
})

t.test('frames that no library sends end no process, and leave nothing behind', async t => {
  const seed = Date.now() % 1_000_000
  t.comment(`seed ${seed}: npm run fuzz -- --what frames --requests 150 --seed ${seed}`)
  const report = await fuzzFrames(t, { requests: 150, seed })
  t.strictSame(report.findings, [])
  t.ok(report.begun > 0, `${report.begun} requests have begun`)
})
