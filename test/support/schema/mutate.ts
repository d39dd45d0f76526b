/** `npm run mutate -- [NAME]`: turns one rule of the data files after the other into its opposite,
 *  in memory only, and runs the tests that ought to notice. Prints for each the test that did, and
 *  fails if none did. */

import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { mutationsOf } from './mutations.ts'

/** The quickest first. */
const tests = [
  'dist/test/codec/schema/minors.test.js',
  'dist/test/writes/admission/pod-resize.test.js',
  'dist/test/golden/cases.test.js',
  'dist/test/golden/minors.test.js',
]

const behaviours = createRequire(import.meta.url)('../../../lib/codec/schema/data/behaviours.json')
const wanted = process.argv[2] ?? ''
const unnoticed: string[] = []
for (const { name } of mutationsOf(behaviours as never)) {
  if (!name.includes(wanted)) continue
  const by = tests.find(file => !passes(file, name))
  process.stdout.write(`${name.padEnd(60)} ${by ?? 'NOT NOTICED'}\n`)
  if (by === undefined) unnoticed.push(name)
}
process.exitCode = unnoticed.length === 0 ? 0 : 1

function passes(file: string, mutation: string): boolean {
  const args = ['--import', './dist/test/support/schema/mutated.js', file]
  const env = { ...process.env, MUTATION: mutation, TAP_TIMEOUT: '300' }
  return spawnSync(process.execPath, args, { env, stdio: 'ignore' }).status === 0
}
