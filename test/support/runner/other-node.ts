/** Other versions of Node, out of npm's registry, where each binary is a package: kept in
 *  .cache/node. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { canSharePort } from '../../../lib/cli/commands/plan/threads.ts'

/** The newest release of a version, such as 24 or 22.12: the path of its program, for this machine
 *  or another kind of processor. */
export function nodeOfVersion(version: string, arch: string = process.arch): string {
  const name = `node-${process.platform}-${arch}`
  const folder = resolve('.cache/node', arch === process.arch ? version : `${version}-${arch}`)
  const program = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(program)) return program
  // Whoever is first puts it there whole: several processes may need it at the same time.
  const own = `${folder}.${process.pid}`
  mkdirSync(own, { recursive: true })
  try {
    writeFileSync(join(own, 'package.json'), '{"private":true}\n')
    const install = [
      'install',
      '--silent',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--force',
    ]
    const fromCache = ['--prefer-offline', `${name}@${version}`]
    execFileSync('npm', [...install, ...fromCache], { cwd: own, stdio: 'inherit' })
    renameSync(own, folder)
  } catch (error) {
    if (!existsSync(program)) throw error
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
  return program
}

/** The oldest Node that can run several workers. */
const oldestForThreads = '22.12'

/** This Node can run several workers. */
export const hasThreads: boolean = canSharePort({
  platform: process.platform,
  node: process.versions.node,
})

/** The Node that runs `watchglass serve` with these arguments: this one, unless it is too old for
 *  several threads. */
export function nodeFor(args: readonly string[]): string {
  const named = args.flatMap((arg, i) =>
    arg === '--threads' ? args.slice(i + 1, i + 2) : (/^--threads=(.*)/.exec(arg)?.[1] ?? []),
  )
  return named.some(count => count !== '1') ? nodeForThreads() : process.execPath
}

/** The path of a Node that can run several workers. */
export function nodeForThreads(): string {
  return hasThreads ? process.execPath : nodeOfVersion(oldestForThreads)
}

/** Why a test of several workers cannot run here; false if it can. */
export function lacksThreads(): string | false {
  if (process.platform !== 'linux') return 'several workers need Linux'
  try {
    nodeForThreads()
    return false
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    return `Node ${oldestForThreads} cannot be had from npm: ${reason}`
  }
}
