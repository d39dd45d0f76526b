/** Programs out of Debian packages, fetched into a cache folder and run from there: nothing is
 *  installed. The mirror's address is the one this machine's own apt uses, and apt checks the
 *  signatures with Debian's keyring. apt gets lists, state and cache of its own there, so that it
 *  needs no rights and changes nothing outside the folder; all packages of a release share them,
 *  because reading the lists of one costs more than most packages. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The folder of fetched programs: shared between checkouts when WATCHGLASS_CACHE names a
 *  folder. */
export const cacheFolder: string =
  process.env['WATCHGLASS_CACHE'] ?? fileURLToPath(new URL('../../../../.cache', import.meta.url))

const keyringFile = '/usr/share/keyrings/debian-archive-keyring.gpg'
const releases = ['bullseye', 'bookworm', 'trixie', 'forky', 'sid']

export interface DebianPackage {
  readonly name: string
  readonly release: 'bookworm' | 'trixie'
}

/** The root folder of the unpacked package, fetched at the first call. Fails with a message for
 *  people. */
export async function unpackedPackage(wanted: DebianPackage): Promise<string> {
  return unpackedOnce(wanted, '', workFolder => fetchPackage(wanted, workFolder))
}

/** The same of a package of this machine's own release, with everything that it depends on but the
 *  C library: what it needs runs with the machine's. */
export async function unpackedWithDependencies(name: string): Promise<string> {
  const source = await machineSource()
  const wanted = { name, release: source.release as DebianPackage['release'], isWhole: true }
  return unpackedOnce(wanted, '-whole', workFolder =>
    download(wanted, { ...source, keyring: keyringFile, folder: workFolder }),
  )
}

async function unpackedOnce(
  { name, release }: DebianPackage,
  suffix: string,
  fetchInto: (workFolder: string) => Promise<void>,
): Promise<string> {
  const folder = join(cacheFolder, `${name}-${release}${suffix}`)
  if (existsSync(folder)) return folder
  await mkdir(cacheFolder, { recursive: true })
  const giveBack = await lockOf(release)
  try {
    // Test files run at the same time: whoever was second finds the folder in place.
    if (!existsSync(folder)) await fetchOnto(folder, name, fetchInto)
    return folder
  } finally {
    await giveBack()
  }
}

/** The folder is there with all that is in it, or not at all. */
async function fetchOnto(
  folder: string,
  name: string,
  fetchInto: (workFolder: string) => Promise<void>,
): Promise<void> {
  const workFolder = await mkdtemp(join(cacheFolder, 'fetching-'))
  try {
    await fetchInto(workFolder)
    await rename(join(workFolder, name), folder)
  } finally {
    await rm(workFolder, { recursive: true, force: true })
  }
}

/** Waits until no other process fetches of a release. The lock is held by a child whose input ends
 *  with this process, however that ends. */
async function lockOf(release: string): Promise<() => Promise<void>> {
  const file = join(cacheFolder, `${release}.lock`)
  const stdio = ['pipe', 'pipe', 'ignore'] as ['pipe', 'pipe', 'ignore']
  const child = spawn('flock', [file, 'sh', '-c', 'echo held; cat'], { stdio })
  await once(child, 'spawn')
  const exited = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exited])
  return async () => {
    child.stdin.end()
    await exited
  }
}

async function fetchPackage(wanted: DebianPackage, workFolder: string): Promise<void> {
  const source = await machineSource()
  try {
    await download(wanted, { ...source, keyring: keyringFile, folder: workFolder })
  } catch (error) {
    // A keyring older than the release does not know its keys: the newest keyring of the machine's
    // own release does.
    if (wanted.release === source.release) throw error
    const name = 'debian-archive-keyring'
    const own = { name, release: source.release as DebianPackage['release'] }
    const keyring = join(await unpackedPackage(own), keyringFile)
    await download(wanted, { ...source, keyring, folder: workFolder })
  }
}

interface Source {
  readonly uri: string
  readonly release: string
}

/** The Debian mirror and release that this machine's apt is set up for. */
async function machineSource(): Promise<Source> {
  const listed = await readdir('/etc/apt/sources.list.d').catch(() => [])
  const files = ['/etc/apt/sources.list', ...listed.map(name => `/etc/apt/sources.list.d/${name}`)]
  for (const file of files.filter(name => /\.(list|sources)$/.test(name))) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const found = file.endsWith('.list') ? oneLineSource(text) : stanzaSource(text)
    if (found !== undefined) return found
  }
  throw new Error('apt on this machine has no Debian release among its sources')
}

function oneLineSource(text: string): Source | undefined {
  for (const line of text.split('\n')) {
    const [, uri, release] = /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+main\b/.exec(line) ?? []
    if (uri !== undefined && release !== undefined && releases.includes(release)) {
      return { uri, release }
    }
  }
  return undefined
}

function stanzaSource(text: string): Source | undefined {
  for (const stanza of text.replaceAll(/^#.*\n/gm, '').split(/\n\s*\n/)) {
    const field = (name: string): string[] =>
      new RegExp(`^${name}:\\s*(.*)$`, 'im').exec(stanza)?.[1]?.trim().split(/\s+/) ?? []
    const [uri] = field('URIs')
    const release = field('Suites').find(name => releases.includes(name))
    if (uri !== undefined && release !== undefined && field('Components').includes('main')) {
      return { uri, release }
    }
  }
  return undefined
}

interface Download extends Source {
  readonly keyring: string
  readonly folder: string
}

interface Downloaded extends DebianPackage {
  /** With everything that it depends on. */
  readonly isWhole?: boolean
}

/** The packages that are unpacked: neither the C library nor what draws with a graphics card, which
 *  is a quarter of a browser. */
const needed = /^(?!libc6|libc-bin|libllvm|libz3|libgl1-mesa-dri).*\.deb$/

/** Fetches and unpacks a package into a folder of its name. */
async function download(wanted: Downloaded, options: Download): Promise<void> {
  const path = (name: string): string => join(cacheFolder, `apt-${wanted.release}`, name)
  const archives = join(options.folder, 'archives')
  for (const folder of [path('state/lists/partial'), path('cache'), join(archives, 'partial')]) {
    await mkdir(folder, { recursive: true })
  }
  await writeFile(path('status'), '')
  const suites =
    wanted.release === options.release
      ? `${wanted.release} ${wanted.release}-updates`
      : wanted.release
  await writeFile(
    path('debian.sources'),
    `Types: deb\nURIs: ${options.uri}\nSuites: ${suites}\nComponents: main\nSigned-By: ${options.keyring}\n`,
  )
  const settings = [
    `Dir::Etc::sourcelist=${path('debian.sources')}`,
    'Dir::Etc::sourceparts=/dev/null',
    'Dir::Etc::preferencesparts=/dev/null',
    `Dir::State=${path('state')}`,
    `Dir::State::status=${path('status')}`,
    `Dir::Cache=${path('cache')}`,
    `Dir::Cache::archives=${archives}`,
    'Acquire::Languages=none',
    'Acquire::http::Timeout=20',
    'Acquire::https::Timeout=20',
    'APT::Update::Error-Mode=any',
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User=root'] : []),
  ].flatMap(setting => ['-o', setting])
  await runApt([...settings, 'update'], archives)
  const args =
    wanted.isWhole === true
      ? ['install', '--yes', '--download-only', '--no-install-recommends']
      : ['download']
  await runApt([...settings, ...args, wanted.name], archives)
  const files = (await readdir(archives)).filter(name => needed.test(name))
  if (files.length === 0) throw new Error(`apt fetched no package ${wanted.name}`)
  for (const file of files) {
    await run('dpkg', ['-x', join(archives, file), join(options.folder, wanted.name)])
  }
}

/** Runs apt-get; a failure says only what apt calls an error. */
async function runApt(args: readonly string[], folder: string): Promise<void> {
  await run('apt-get', args, { cwd: folder }).catch((error: Error & { stderr?: string }) => {
    const lines = error.stderr?.split('\n').filter(line => line.startsWith('E:')) ?? []
    throw new Error(lines.length > 0 ? lines.join(' ') : error.message, { cause: error })
  })
}
