/** Builds the program if it is not built, or something was changed since: `npm start` begins at once after `npm ci`, which builds. */

import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const modifiedMs = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** When a file below the folder, or a folder itself, as by a deletion, was last changed. */
function changedMs(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((latest, entry) => {
    const path = join(folder, entry.name)
    return Math.max(latest, entry.isDirectory() ? changedMs(path) : modifiedMs(path))
  }, modifiedMs(folder))
}

const sources = [changedMs('lib'), ...['package.json', 'deploy/bundle.mjs'].map(modifiedMs)]
if (modifiedMs('dist/program/cli.js') < Math.max(...sources)) {
  process.stdout.write('building the program\n')
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
}
