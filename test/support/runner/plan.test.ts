import t from 'tap'
import { jobsOf } from './plan.ts'
import { ProcessUse, allTestFiles } from './test-files.ts'

t.test('every file is in one job, however many wait and compute', async t => {
  const use = new ProcessUse()
  const all = allTestFiles()
  const starting = all.filter(file => use.startsProcesses(file))
  const quick = all.filter(file => !use.startsProcesses(file))
  for (const files of [all, starting, quick, quick.slice(0, 40), starting.slice(0, 1), []]) {
    const planned = jobsOf(files, 'node').flatMap(job => job.files)
    t.strictSame(planned.sort(), [...files].sort())
  }
})

t.test('those that compute lie between those that wait', async t => {
  const use = new ProcessUse()
  const kinds = jobsOf(allTestFiles(), 'node')
    .filter(({ files }) => files.length > 1)
    .map(({ files }) => files.some(file => use.startsProcesses(file)))
  t.ok(kinds[0], 'the slowest first')
  const [early, late] = [kinds.slice(0, kinds.length / 2), kinds.slice(kinds.length / 2)]
  const computing = (some: readonly boolean[]): number =>
    some.filter(isWaiting => !isWaiting).length
  t.ok(Math.abs(computing(early) - computing(late)) <= 2)
})
