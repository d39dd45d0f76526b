import { Counter, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { BucketTally, CountTally, seriesMax } from '../../../lib/cache/ops/tally.ts'

t.test('tallies write what prom-client writes', async t => {
  const registry = new Registry()
  const registers = [registry]
  const counted = { name: 'things_total', help: 'Things.', labelNames: ['of', 'in'] }
  const timed = { name: 'wait_seconds', help: 'Waits.', labelNames: ['of'] }
  const bounds = [0.001, 0.5, 2]
  const counter = new Counter({ ...counted, registers })
  const histogram = new Histogram({ ...timed, buckets: bounds, registers })
  const counts = new CountTally(counted)
  const times = new BucketTally(timed, bounds)
  for (const [of, place] of [
    ['a', 'x'],
    ['a', 'x'],
    ['a "b" \\ c', 'x\ny'],
    ['', ''],
  ] as const) {
    counter.inc({ of, in: place })
    counts.add([of, place])
  }
  for (const value of [0.0005, 0.001, 0.0011, 1, 2, 3, 7]) {
    histogram.observe({ of: 'a' }, value)
    times.observe(['a'], value)
  }
  t.equal(`${counts.text()}\n${times.text()}`, await registry.metrics())
})

t.test('a tally without labels has no braces', t => {
  const times = new BucketTally({ name: 'x_seconds', help: 'X.', labelNames: [] }, [1])
  times.observe([], 2)
  t.match(times.text(), /\nx_seconds_bucket\{le="1"\} 0\nx_seconds_bucket\{le="\+Inf"\} 1\n/)
  t.match(times.text(), /\nx_seconds_count 1\n/)
  t.end()
})

t.test('a tally has so many series, and counts the rest in one more', t => {
  const counts = new CountTally({ name: 'x_total', help: 'X.', labelNames: ['a', 'b'] })
  const times = new BucketTally({ name: 'x_seconds', help: 'X.', labelNames: ['a'] }, [1])
  for (let i = 0; i < seriesMax + 100; i++) {
    counts.add([`a${i}`, 'b'])
    times.observe([`a${i}`], 0.5)
  }
  counts.add(['a0', 'b'])
  t.equal(counts.text().match(/^x_total\{/gm)?.length, seriesMax + 1)
  t.match(counts.text(), 'x_total{a="other",b="other"} 100\n')
  t.match(counts.text(), 'x_total{a="a0",b="b"} 2\n')
  t.match(times.text(), 'x_seconds_count{a="other"} 100\n')
  t.end()
})
