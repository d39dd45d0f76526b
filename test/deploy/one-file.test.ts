/** The one executable file, built and tried. */

import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import t from 'tap'
import { type Architecture, buildOneFile } from '../support/release/one-file.ts'
import { tryOneFile } from '../support/release/smoke.ts'

t.test('the one file has all that the package has', async t => {
  const folder = t.testdir({})
  const file = buildOneFile(process.arch as Architecture, folder)
  t.ok(statSync(file).size < 200_000_000)
  await tryOneFile(file)
})

t.test('the one file says what was wrong with its arguments', async t => {
  const file = buildOneFile(process.arch as Architecture, t.testdir({}))
  t.throws(() => execFileSync(file, ['serve', '--listen', 'nowhere'], { stdio: 'pipe' }), {
    status: 2,
    message: /watchglass: .*--listen/,
  })
})
