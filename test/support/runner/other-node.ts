/** Other versions of Node, out of npm's registry, where each binary is a package: kept in .cache/node. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** The newest release of a major version, such as 24, or a given one: the path of its program. */
export function nodeOfVersion(version: string): string {
  const name = `node-${process.platform}-${process.arch}`
  const folder = resolve('.cache/node', version)
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
    const install = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts']
    execFileSync('npm', [...install, `${name}@${version}`], { cwd: folder, stdio: 'inherit' })
  }
  return program
}
