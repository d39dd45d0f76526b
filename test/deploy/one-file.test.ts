/** The one executable file, built and tried. */

import { execFileSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import t from 'tap'
import { architectures, buildOneFile, nodeVersion } from '../support/release/one-file.ts'
import { tryOneFile } from '../support/release/smoke.ts'
import { nodeOfVersion } from '../support/runner/other-node.ts'

const arch = architectures.find(name => name === process.arch)

/** The reason why it cannot be built here; false if it can. */
function lacks(): string | false {
  if (process.platform !== 'linux' || arch === undefined) return 'the file is for Linux'
  if (!existsSync('node_modules/.bin/esbuild')) return 'esbuild is not installed: npm ci'
  try {
    nodeOfVersion(nodeVersion)
    return false
  } catch (error) {
    if (process.env['CI'] === 'true') throw error
    return `Node ${nodeVersion} cannot be had from npm: ${(error as Error).message.split('\n')[0]}`
  }
}

t.test('the one file has all that the package has', { skip: lacks() }, async t => {
  const file = buildOneFile(arch!, t.testdir({}))
  t.ok(statSync(file).size < 200_000_000)
  await tryOneFile(file)
  t.throws(() => execFileSync(file, ['serve', '--listen', 'nowhere'], { stdio: 'pipe' }), {
    status: 2,
    message: /watchglass: .*--listen/,
  })
})
