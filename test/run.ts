/** `npm test`: build, lint and format first, then every test file under tap. Shows a line for each file, whatever failed in
 *  full, which suites took longer than they may, and at the end `N passed, N failed`, where a test is one `t.test` of a file.
 *
 *  Arguments are passed on to tap: `npm test -- dist/test/lib/base/keys.test.js`. */

import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { suiteBudgets } from './budgets.ts'

for (const step of ['build', 'lint', 'format']) {
  if (spawnSync('npm', ['run', '--silent', step], { stdio: 'inherit' }).status !== 0) finish(0, 1)
}

let passed = 0
let failed = 0
let failedInFile = 0
const secondsOf = new Map<string, number>()
let isInFailure = false

const tap = spawn('npx', ['tap', '--reporter=tap', ...process.argv.slice(2)], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
createInterface({ input: tap.stdout }).on('line', count).on('line', addTime).on('line', show)
tap.on('close', code => {
  showBudgets()
  finish(passed, code === 0 ? failed : Math.max(failed, 1))
})

/** Tests are the points one level below the files; a file that failed with no failed test in it counts as one. */
function count(line: string): void {
  if (/^ {4}ok \d+ - /.test(line)) passed++
  if (/^ {4}not ok \d+ - /.test(line)) failedInFile++
  if (/^(?:not )?ok \d+ - /.test(line)) {
    failed += line.startsWith('not') ? Math.max(failedInFile, 1) : 0
    failedInFile = 0
  }
}

function addTime(line: string): void {
  const [, path = '', ms] =
    /^(?:not )?ok \d+ - dist\/test\/(?:lib\/)?(\S+) # time=([\d.]+)ms/.exec(line) ?? []
  if (ms === undefined) return
  const suite = path.includes('/') ? path.slice(0, path.indexOf('/')) : 'others'
  secondsOf.set(suite, (secondsOf.get(suite) ?? 0) + Number(ms) / 1000)
}

/** Not a failure: the machine may be busy. But whoever sees it knows where the time goes. */
function showBudgets(): void {
  for (const [suite, seconds] of secondsOf) {
    const budget = suiteBudgets[suite] ?? 0
    if (seconds <= budget) continue
    process.stdout.write(
      `# suite ${suite} took ${Math.round(seconds)} s; its budget is ${budget} s\n`,
    )
  }
}

/** The files' own lines, failed points with their diagnosis, and what tests print as comments. */
function show(line: string): void {
  if (/^\s*(?:not )?ok \d+/.test(line)) isInFailure = /^\s*not ok/.test(line)
  const isShown = isInFailure || /^(?:ok \d+ - |\s*# (?!Subtest|time=))/.test(line)
  if (isShown) process.stdout.write(`${line}\n`)
}

function finish(passed: number, failed: number): never {
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}
