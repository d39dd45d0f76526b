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
