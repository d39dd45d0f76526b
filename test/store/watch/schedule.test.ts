import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Schedule } from '../../../lib/store/watch/schedule.ts'
import { collector } from '../../support/program/collector.ts'

t.test('what is due comes in order, up to a tenth of a second late and never early', async t => {
  const schedule = new Schedule<string>()
  schedule.add('b', 250)
  schedule.add('a', 10)
  schedule.add('c', 1_000)
  t.equal(schedule.nextMs(), 100)
  t.strictSame(schedule.take(99), [])
  t.strictSame(schedule.take(300), ['a', 'b'])
  t.equal(schedule.nextMs(), 1_000)
  t.strictSame(schedule.take(1_000), ['c'])
  t.equal(schedule.nextMs(), undefined)
})

t.test('whatever is added and removed, what is left comes once', async t => {
  const step = fc.record({ atMs: fc.nat(2_000), isRemoved: fc.boolean(), nowMs: fc.nat(2_000) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const schedule = new Schedule<number>()
      const left = new Map<number, number>()
      steps.forEach(({ atMs, isRemoved, nowMs }, item) => {
        schedule.add(item, atMs)
        left.set(item, atMs)
        if (isRemoved) {
          schedule.delete(item, atMs)
          schedule.delete(item, atMs)
          left.delete(item)
        }
        const due = new Set(schedule.take(nowMs))
        for (const [one, oneMs] of left) {
          assert.equal(due.has(one), Math.ceil(oneMs / 100) * 100 <= nowMs)
          if (due.has(one)) left.delete(one)
        }
      })
      assert.equal(schedule.take(Infinity).length, left.size)
    }),
  )
  t.pass()
})

t.test('what was removed leaves nothing behind, however far away its time is', async t => {
  const schedule = new Schedule<object>()
  const collect = collector()
  const kept = {}
  schedule.add(kept, 1e12)
  collect()
  const { heapUsed } = process.memoryUsage()
  for (let i = 0; i < 100_000; i++) {
    const item = {}
    schedule.add(item, 1e9 + i * 100)
    schedule.delete(item, 1e9 + i * 100)
  }
  collect()
  const grown = (process.memoryUsage().heapUsed - heapUsed) / 2 ** 20
  t.ok(grown < 2, `grown by ${grown} MiB`)
  t.strictSame(schedule.take(2e12), [kept])
})
