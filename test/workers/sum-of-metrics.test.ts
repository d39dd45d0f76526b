import t from 'tap'
import { sumOfMetrics } from '../../lib/workers/process/sum-of-metrics.ts'

const text = (value: number, process: number): string =>
  [
    '# HELP watchglass_requests_total Requests.',
    '# TYPE watchglass_requests_total counter',
    `watchglass_requests_total{verb="get"} ${value}`,
    '# HELP process_resident_memory_bytes Memory.',
    '# TYPE process_resident_memory_bytes gauge',
    `process_resident_memory_bytes ${process}`,
    '',
  ].join('\n')

t.test('metrics of threads are added up, but those of the process are not', async t => {
  const more = '# HELP a_total A.\n# TYPE a_total counter\na_total{of="x y"} 2\n'
  const sum = sumOfMetrics([text(1, 100), text(2, 200), text(4, 300) + more])
  t.match(sum, /^watchglass_requests_total\{verb="get"\} 7$/m)
  t.match(sum, /^process_resident_memory_bytes 100$/m)
  t.match(sum, /^a_total\{of="x y"\} 2$/m)
  t.equal(sum.match(/# TYPE watchglass_requests_total/g)?.length, 1)
})
