/** Finds real programs to test against: etcd 3.5 and 3.4, etcdctl, kubectl, prometheus, promtool. A
 *  program comes from its variable (ETCD_BIN, ETCD34_BIN, ETCDCTL_BIN, KUBECTL_BIN, PROMETHEUS_BIN,
 *  PROMTOOL_BIN), else from PATH, else out of Debian's packages, fetched into a cache folder that
 *  git ignores.
 *
 *  When none can be had, tests that need it are skipped with the reason, except in CI (CI=true),
 *  where that is a failure:
 *
 *      const etcd = await findEtcd('3.5')
 *      t.test('...', { skip: etcd.skip }, async t => { const cluster = await startEtcd(t, etcd) ... }) */

import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { CacheError } from '../../../lib/base/errors.ts'
import { type DebianPackage, unpackedPackage } from './debian-packages.ts'
import { patient } from '../patience.ts'

const run = promisify(execFile)

/** A program that was found, or why there is none. */
export interface Program {
  /** The path; empty when there is none. */
  readonly binary: string
  /** Such as `3.5.16`; empty when there is none. */
  readonly version: string
  /** False, or the reason why tests that need it are skipped: pass it as `skip`. */
  readonly skip: false | string
}

/** The real etcd of a minor version. With '3.5', ETCD_BIN may be any later version too. */
export async function findEtcd(minor: '3.5' | '3.4'): Promise<Program> {
  return find({
    name: 'etcd',
    variable: minor === '3.5' ? 'ETCD_BIN' : 'ETCD34_BIN',
    from: { name: 'etcd-server', release: minor === '3.5' ? 'trixie' : 'bookworm' },
    versionArguments: ['--version'],
    accepts: version => version.startsWith(`${minor}.`),
  })
}

/** etcd's command line client, 3.5 or later. */
export async function findEtcdctl(): Promise<Program> {
  return find({
    name: 'etcdctl',
    variable: 'ETCDCTL_BIN',
    from: { name: 'etcd-client', release: 'trixie' },
    versionArguments: ['version'],
    accepts: version => !version.startsWith('3.4.') && !version.startsWith('2.'),
  })
}

export async function findKubectl(): Promise<Program> {
  return find({
    name: 'kubectl',
    variable: 'KUBECTL_BIN',
    from: { name: 'kubernetes-client', release: 'trixie' },
    versionArguments: ['version', '--client'],
    accepts: () => true,
  })
}

/** Finds the program that scrapes metrics. */
export async function findPrometheus(): Promise<Program> {
  return findTool('prometheus')
}

/** Finds the program that checks metrics and alerts. */
export async function findPromtool(): Promise<Program> {
  return findTool('promtool')
}

function findTool(name: 'prometheus' | 'promtool'): Promise<Program> {
  return find({
    name,
    variable: `${name.toUpperCase()}_BIN`,
    from: { name, release: 'trixie' },
    versionArguments: ['--version'],
    accepts: () => true,
  })
}

export interface Wanted {
  readonly name: string
  readonly variable: string
  readonly from: DebianPackage
  /** Unpacks the program, if it is more than a file of the package; its path. */
  readonly unpack?: (() => Promise<string>) | undefined
  readonly versionArguments: readonly string[]
  readonly accepts: (version: string) => boolean
}

const found = new Map<string, Promise<Program>>()

/** Finds a program that is wanted, once for all files of a process. */
export function find(wanted: Wanted): Promise<Program> {
  const { variable } = wanted
  const key = `${variable}=${process.env[variable] ?? ''}`
  let program = found.get(key)
  if (program === undefined) found.set(key, (program = look(wanted)))
  return program
}

async function look(wanted: Wanted): Promise<Program> {
  const named = process.env[wanted.variable]
  if (named !== undefined && named !== '') {
    // A binary that was named and does not run is a mistake to hear about, never a reason to skip.
    return { binary: named, version: await versionOf(named, wanted), skip: false }
  }
  for (const binary of onPath(wanted.name)) {
    const version = await versionOf(binary, wanted).catch(() => '')
    if (version !== '' && wanted.accepts(version)) return { binary, version, skip: false }
  }
  try {
    const binary =
      (await wanted.unpack?.()) ?? join(await unpackedPackage(wanted.from), 'usr/bin', wanted.name)
    return { binary, version: await versionOf(binary, wanted), skip: false }
  } catch (error) {
    const reason = CacheError.from(error, 'source_failed').message.trim()
    const { name, release } = wanted.from
    const message =
      `no ${wanted.name} to test against: set ${wanted.variable}, or put it on PATH; ` +
      `Debian's package ${name} (${release}) could not be had: ${reason}`
    if (process.env['CI'] === 'true') throw new Error(message, { cause: error })
    return { binary: '', version: '', skip: message }
  }
}

function onPath(name: string): string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(folder => folder !== '')
  return folders
    .map(folder => join(folder, name))
    .filter(file => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

async function versionOf(binary: string, wanted: Wanted): Promise<string> {
  const { stdout } = await run(binary, wanted.versionArguments, { timeout: patient(20_000) })
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0]
  if (version === undefined) throw new Error(`${binary} does not say its version`)
  return version
}
