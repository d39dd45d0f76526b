/** A release: checks, builds, lists and tries everything that is published, in a folder of its own;
 *  then publishes the packages.
 *
 *      npm run release -- [--dry-run | --build-only]
 *
 *  A dry run says what speaks against a release, goes on all the same, and publishes nothing.
 *  `--build-only` is for .github/workflows/release.yml, which publishes what was built. */

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { libraries, pack } from '../program/package.ts'
import { nodeOfVersion } from '../runner/other-node.ts'
import { ToolOptions } from '../runner/tool-options.ts'
import { architectures, buildOneFile, nodeVersion } from './one-file.ts'
import { noteOf, reasonsAgainst } from './ready.ts'
import { tryOneFile } from './smoke.ts'

interface Component {
  readonly name: string
  readonly version: string
  readonly purl: string
}

interface PartsList {
  readonly components: readonly Component[]
}

interface ReleaseOptions {
  readonly isDry: boolean
  /** A tag has begun it. */
  readonly isBuildOnly: boolean
}

async function release(folder: string, { isDry, isBuildOnly }: ReleaseOptions): Promise<void> {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const note = noteOf(version)
  const reasons = reasonsAgainst({
    version,
    changelog: readFileSync('CHANGELOG.md', 'utf8'),
    status: output('git', 'status', '--porcelain'),
    tags: isBuildOnly ? [] : output('git', 'tag', '--list').split('\n'),
    note: existsSync(note) ? readFileSync(note, 'utf8') : undefined,
  })
  for (const reason of reasons) say(`against a release: ${reason}`)
  if (reasons.length > 0 && !isDry) throw new Error('nothing was built or published')

  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const packed = [await pack(folder)]
  for (const library of libraries) packed.push(await pack(folder, library))
  for (const { filename, size } of packed) say(`${filename}: ${size} bytes`)
  const packages = packed.map(({ filename }) => resolve(folder, filename))
  const files = architectures.map(arch => buildOneFile(arch, folder))
  writePartsLists(folder, version)
  writeChecksums(folder)
  say('trying the workflows, the chart, and the packages, installed in another folder')
  tryPackages(packages)
  const own = files[architectures.findIndex(arch => arch === process.arch)]
  if (own === undefined) throw new Error(`there is no file for ${process.arch} to try`)
  say(`trying ${own}`)
  await tryOneFile(own)
  say(checked(folder))
  if (isDry) {
    const count = reasons.length === 0 ? 'nothing speaks' : `${reasons.length} of the above speak`
    say(`all is in ${folder}; ${count} against a release; nothing was published`)
    for (const line of remainingSteps(version, folder)) say(line)
    return
  }
  if (isBuildOnly) return
  // The program first: a library needs it.
  for (const path of packages) {
    execFileSync('npm', ['publish', '--provenance', path], { stdio: 'inherit' })
  }
}

/** The steps of a release that need a network and rights. */
function remainingSteps(version: string, folder: string): string[] {
  return [
    `left to do, which .github/workflows/release.yml does for the tag v${version}:`,
    `  files: gh release create v${version} --notes-file ${noteOf(version)} with all of ${folder}, attested`,
    '  npm: npm stage publish FILE.tgz of the program, then of the libraries; npm stage approve by a maintainer',
    '  image: docker buildx build --platform linux/amd64,linux/arm64 --file deploy/Dockerfile --push, attested',
    '  chart: helm package deploy/helm/watchglass, then helm push to an OCI registry',
    'once, by hand: the first npm publish of each package, and release.yml as its trusted publisher; the environment',
    '  "release" with its reviewers; private reports of vulnerabilities; protection of main and of tags v*',
  ]
}

/** Runs the tests of what will be published, those of packages on the very files. Their output is
 *  shown if they fail. */
function tryPackages([program = '', ...others]: readonly string[]): void {
  for (const test of ['publishing', 'chart', 'alerts', 'package', 'installed', 'libraries']) {
    const { status, stdout } = spawnSync(process.execPath, [`dist/test/deploy/${test}.test.js`], {
      // A busy machine installs slowly: tap would end it after 30 s.
      env: {
        ...process.env,
        CI: 'true',
        PACKED: program,
        PACKED_LIBRARIES: others.join(':'),
        TAP_TIMEOUT: '600',
      },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (status === 0) continue
    say(stdout)
    throw new Error(`test/deploy/${test}.test.ts fails: see above`)
  }
}

/** Parts of the package and of the files, by the versions of package-lock.json, which are those
 *  that the files have; and the licences of all of them. */
function writePartsLists(folder: string, version: string): void {
  const work = join(mkdtempSync(join(tmpdir(), 'watchglass-parts-')), 'watchglass')
  try {
    mkdirSync(work)
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(name, join(work, name))
    const npm = (...args: string[]): string =>
      execFileSync('npm', args, { cwd: work, encoding: 'utf8' })
    // Where development needs a package, too, npm would leave it out (npm 11).
    npm('pkg', 'delete', 'devDependencies', 'scripts')
    const parts = (): PartsList => {
      npm('install', '--package-lock-only', '--ignore-scripts', '--prefer-offline', '--silent')
      const shape = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application']
      return JSON.parse(npm('sbom', '--package-lock-only', ...shape)) as PartsList
    }
    const list = parts()
    const ofPackage = `watchglass-${version}.cdx.json`
    writeFileSync(join(folder, ofPackage), `${JSON.stringify(list, undefined, 2)}\n`)
    // Packages that are loaded only if they are there are not in the files.
    npm('pkg', 'delete', 'optionalDependencies')
    const inFiles = parts()
    const node = nodeOfVersion(nodeVersion)
    const nodeRelease = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)
    const runtime = { name: 'node', version: nodeRelease, purl: `pkg:generic/node@${nodeRelease}` }
    const ofNode = { type: 'application', 'bom-ref': `node@${nodeRelease}`, ...runtime }
    const ofFiles = { ...inFiles, components: [ofNode, ...inFiles.components] }
    writeFileSync(
      join(folder, 'watchglass-linux.cdx.json'),
      `${JSON.stringify(ofFiles, undefined, 2)}\n`,
    )
    const licences = [
      ['watchglass', readFileSync('LICENSE', 'utf8')] as const,
      [`node ${nodeRelease}`, licenceIn(resolve(dirname(node), '..'))] as const,
      ...inFiles.components.map(({ name, version: one }) => {
        const path = installed(name, one)
        return [`${name} ${one}`, licenceIn(path)] as const
      }),
    ]
    const text = licences.map(([name, licence]) => `==== ${name}\n\n${licence}\n`).join('\n')
    writeFileSync(join(folder, 'watchglass-linux.licences.txt'), text)
  } finally {
    rmSync(dirname(work), { recursive: true, force: true })
  }
}

/** The folder of a package in this version: another one may have its name at the top. */
function installed(name: string, version: string): string {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, { readonly version?: string }>>
  }
  const path = Object.keys(lock.packages).find(
    one => one.endsWith(`node_modules/${name}`) && lock.packages[one]?.version === version,
  )
  if (path === undefined) throw new Error(`${name} ${version} is not in package-lock.json`)
  return path
}

function licenceIn(folder: string): string {
  const name = readdirSync(folder).find(one => /^licen[cs]e/i.test(one))
  if (name !== undefined) return readFileSync(join(folder, name), 'utf8').trim()
  const manifest = join(folder, 'package.json')
  const said = existsSync(manifest) ? readFileSync(manifest, 'utf8') : '{}'
  const { license } = JSON.parse(said) as { license?: string }
  if (license === undefined) throw new Error(`${folder} names no licence`)
  return `${license} (the package has no text of it)`
}

/** As `sha256sum --check` reads them, in the folder itself. */
function writeChecksums(folder: string): void {
  const lines = readdirSync(folder)
    .toSorted()
    .map(name => {
      const sum = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')
      return `${sum}  ${name}\n`
    })
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}

function checked(folder: string): string {
  const args = ['--check', '--strict', 'SHA256SUMS']
  return execFileSync('sha256sum', args, { cwd: folder, encoding: 'utf8' }).trim()
}

function output(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' })
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const tool = new ToolOptions(`npm run release -- [OPTION]
  --dry-run     publishes nothing, and says what it would publish
  --build-only  publishes nothing, and fails where something speaks against a release`)
const flag = { type: 'boolean', default: false } as const
const { values } = tool.read({ options: { 'dry-run': flag, 'build-only': flag } })
await release('.cache/release', { isDry: values['dry-run'], isBuildOnly: values['build-only'] })
