/** `npm run docs`: the site of the documents. What makes it is a package of its own, which is installed when it is first asked for: who
 *  builds and tests needs none of its 100 packages. */

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const eleventy = 'deploy/site/node_modules/@11ty/eleventy/cmd.cjs'

if (!existsSync(eleventy)) {
  process.stdout.write('installing what makes the pages (deploy/site/package.json), once\n')
  execFileSync('npm', ['ci', '--prefix', 'deploy/site', '--no-progress'], { stdio: 'inherit' })
}
const options = ['--config=deploy/site/eleventy.config.mjs', '--quiet']
execFileSync(process.execPath, [eleventy, ...options], { stdio: 'inherit' })
process.stdout.write(
  `the pages are in .cache/site: open ${pathToFileURL(resolve('.cache/site/index.html')).href}\n`,
)
