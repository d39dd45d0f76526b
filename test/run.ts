/** `npm test`: after the build, runs the linter, the format check and every test file. `npm run
 *  test:quick` leaves out whole suites and files that start other processes, `npm run test:long`
 *  runs what `npm test` leaves out because it takes longest. `npm test -- FILE...` runs these files
 *  only, such as dist/test/base/keys.test.js, and `npm test -w @watchglass/store` those of a
 *  package. `npm run test:node -- 24` runs the tests of the wire on another version of Node.
 *
 *  Shows a line for each file, whatever failed in full, which suites took longer than they may,
 *  and at the end `N passed, N failed`, where a test is one `t.test` of a file. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  long,
  notQuick,
  quickBudget,
  quickSeconds,
  suiteBudgets,
  suiteOf,
  wholeBudget,
  wholeSeconds,
} from './budgets.ts'
import { MachineWatch } from './support/patience.ts'
import { lacksThreads, nodeForThreads, nodeOfVersion } from './support/runner/other-node.ts'
import { alone, jobsOf } from './support/runner/plan.ts'
import { processorMs } from './support/runner/processor-time.ts'
import { type FileResult, type Job, runJobs } from './support/runner/run-files.ts'
import { ProcessUse, allTestFiles } from './support/runner/test-files.ts'
import { ToolOptions } from './support/runner/tool-options.ts'

/** The suites that depend on Node's own HTTP, TLS and streams. */
const wire = /^dist\/test\/(?:cache\/http|proxy|store\/watch|e2e)\//

/** The tests that start workers in their own process. */
const threads = /^dist\/test\/workers\/pool\.test/

const tool = new ToolOptions(`npm test -- [OPTION | FILE...]
  FILE     only these files, such as dist/test/base/keys.test.js
  --quick  those of the core that start no other process: two minutes
  --long   those that npm test leaves out
  --package those of a package, such as store
  --wire   those of the wire, on the Node of the version that follows (24)`)
const { values, positionals } = tool.read({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    wire: { type: 'boolean' },
    long: { type: 'boolean' },
    package: { type: 'string' },
  },
})
const machine = new MachineWatch('.cache/patience')
const results: FileResult[] = []
const startMs = performance.now()

/** The folder of temporary files of all tests: a test that is ended could not remove its own. */
const temporary = mkdtempSync(join(tmpdir(), 'watchglass-tests-'))
process.env['TMPDIR'] = temporary
try {
  // Many tests wait for a server, or for time to pass: one process more than processors keeps
  // these busy.
  const jobs = chosenJobs()
  sayWhatComes(jobs)
  await runJobs(jobs, {
    atOnce: availableParallelism() + 1,
    onFile: result => results.push(result),
    write: text => process.stdout.write(text),
    machine,
  })
} finally {
  machine.stop()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
}
showBudgets()
const sum = (key: 'passed' | 'failed'): number => results.reduce((sum, each) => sum + each[key], 0)
process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`)
process.exitCode = sum('failed') === 0 && results.length > 0 ? 0 : 1

/** Who waits is told for how long: the first file of many takes a while. */
function sayWhatComes(jobs: readonly Job[]): void {
  const count = jobs.reduce((sum, { files }) => sum + files.length, 0)
  const isWhole = values.wire !== true && values.long !== true && values.package === undefined
  const seconds = values.quick === true ? quickSeconds : wholeSeconds
  const about =
    isWhole && positionals.length === 0 ? `: about ${seconds} s on two quiet processors` : ''
  process.stdout.write(`# ${count} files${about}\n`)
}

function chosenJobs(): Job[] {
  const node = process.execPath
  if (values.wire === true) {
    const other = nodeOfVersion(positionals[0] ?? '24')
    const version = execFileSync(other, ['--version'], { encoding: 'utf8' }).trim()
    process.stdout.write(`# the tests of the wire on Node ${version}\n`)
    return jobsOf(
      allTestFiles().filter(file => wire.test(file)),
      other,
    )
  }
  if (values.package !== undefined) {
    const folder = `dist/test/${values.package}/`
    const chosen = allTestFiles().filter(file => file.startsWith(folder) && !long.includes(file))
    if (chosen.length === 0) tool.refuse(`there are no tests in ${folder}`)
    return jobsOf(chosen, node)
  }
  if (positionals.length > 0) return positionals.map(file => alone(file, nodeOf(file)))
  if (values.long === true) {
    return jobsOf(
      allTestFiles().filter(file => long.includes(file)),
      node,
    )
  }
  const checks = ['lint', 'format'].map(step => ({
    files: [step],
    command: ['npm', 'run', '--silent', step],
  }))
  const use = new ProcessUse()
  const isChosen = (file: string): boolean => {
    if (long.includes(file)) return false
    return values.quick !== true || (!notQuick.has(suiteOf(file)) && !use.startsProcesses(file))
  }
  const chosen = allTestFiles().filter(isChosen)
  const ofThreads = chosen.filter(file => threads.test(file))
  const others = chosen.filter(file => !threads.test(file))
  return [...checks, ...jobsOf(others, node), ...ofThreads.map(file => alone(file, nodeOf(file)))]
}

/** The Node that runs a file: one that can have several threads for those that start them in their
 *  own process. */
function nodeOf(file: string): string {
  return threads.test(file) && lacksThreads() === false ? nodeForThreads() : process.execPath
}

/** Not a failure: what a file takes of the processors depends on the machine, too. But whoever sees
 *  it knows where the time goes. */
function showBudgets(): void {
  const secondsOf = new Map<string, number>()
  for (const { file, processorSeconds } of results) {
    const suite = suiteOf(file)
    secondsOf.set(suite, (secondsOf.get(suite) ?? 0) + processorSeconds)
  }
  for (const [suite, seconds] of secondsOf) {
    const budget = suiteBudgets[suite]
    if (budget === undefined || seconds <= budget) continue
    process.stdout.write(
      `# suite ${suite} took ${Math.round(seconds)} s of the processors; its budget is ${budget} s\n`,
    )
  }
  if (values.wire === true || positionals.length > 0) return
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const processorSeconds = Math.round(processorMs() / 1000)
  const took = `${seconds} s, ${processorSeconds} s of the processors`
  const budget = values.quick === true ? quickBudget : wholeBudget
  process.stdout.write(`# all took ${took}; on a quiet machine it may take ${budget} s\n`)
}
