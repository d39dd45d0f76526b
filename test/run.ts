/** `npm test`: build, lint, format and layers first, then every test file under tap. Ends with a line `N passed, N failed`,
 *  where a test is one `t.test` of a file. Arguments are passed on to tap: `npm test -- dist/test/base/keys.test.js`. */

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'

const tapFile = '.tap/all.tap'

for (const step of ['build', 'lint', 'format']) {
  if (!run('npm', ['run', '--silent', step])) finish(0, 1)
}
mkdirSync('.tap', { recursive: true })
rmSync(tapFile, { force: true })
const isOk = run('npx', [
  'tap',
  process.stdout.isTTY ? '--reporter=base' : '--reporter=tap',
  `--output-file=${tapFile}`,
  ...process.argv.slice(2),
])
const { passed, failed } = count(readFileSync(tapFile, 'utf8'))
finish(passed, isOk ? failed : Math.max(failed, 1))

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0
}

/** Tests are the points one level below the files; a file that failed with no failed test in it counts as one. */
function count(tap: string): { passed: number; failed: number } {
  let passed = 0
  let failed = 0
  let failedInFile = 0
  for (const line of tap.split('\n')) {
    if (/^ {4}ok \d+ - /.test(line)) passed++
    if (/^ {4}not ok \d+ - /.test(line)) failedInFile++
    if (/^(not )?ok \d+ - /.test(line)) {
      failed += line.startsWith('not') ? Math.max(failedInFile, 1) : 0
      failedInFile = 0
    }
  }
  return { passed, failed }
}

function finish(passed: number, failed: number): never {
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 ? 0 : 1)
}
