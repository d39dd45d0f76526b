/** The program as one executable file: Node itself (a single executable application, as it calls
 *  it) with our modules and the packages that they use, bundled by esbuild, and our data as assets.
 *
 *      npm run sea -- [--arch arm64] [--out FOLDER]
 *
 *  The Node is npm's package of its binary, so that each machine builds the same file. Another
 *  kind of processor needs only that processor's binary: nothing of it is run. */

import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
  symlinkSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { nodeOfVersion } from '../runner/other-node.ts'
import { ToolOptions } from '../runner/tool-options.ts'
import { tryOneFile } from './smoke.ts'

/** The Node in the file: the first one that takes an ESM entry and builds the file itself. */
export const nodeVersion = '26'

export const architectures = ['x64', 'arm64'] as const

export type Architecture = (typeof architectures)[number]

/** Builds the file out of `dist`.
 *  @returns its path: watchglass-linux-x64 in the folder */
export function buildOneFile(arch: Architecture, folder: string): string {
  const work = resolve('.cache/one-file', String(process.pid))
  const output = resolve(folder, `watchglass-linux-${arch}`)
  mkdirSync(work, { recursive: true })
  mkdirSync(folder, { recursive: true })
  try {
    const lib = join(work, 'lib')
    cpSync('dist/lib', lib, { recursive: true })
    linkPackages(work)
    showBundler(lib)
    const main = bundle(join(lib, 'cli/cli.js'), join(work, 'main.mjs'), 'esm')
    // A thread's text is evaluated, as a script and not as a module.
    const thread = bundle(join(lib, 'cli/commands/worker.js'), join(work, 'worker.js'), 'cjs')
    const config = join(work, 'config.json')
    const executable = nodeOfVersion(nodeVersion, arch)
    const asked = {
      main,
      mainFormat: 'module',
      executable,
      output,
      disableExperimentalSEAWarning: true,
      assets: { ...dataFiles(lib), 'package.json': manifest(work), 'worker.js': thread },
    }
    writeFileSync(config, JSON.stringify(asked))
    execFileSync(nodeOfVersion(nodeVersion), ['--build-sea', config], { stdio: 'pipe' })
    return output
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The packages of the copy find each other by name. */
function linkPackages(work: string): void {
  const links = join(work, 'node_modules/@watchglass')
  mkdirSync(links, { recursive: true })
  for (const name of readdirSync(join(work, 'lib'))) {
    symlinkSync(`../../lib/${name}`, join(links, name))
  }
}

/** Modules that load a package late do so by a function that no bundler looks into. */
function showBundler(lib: string): void {
  for (const path of filesOf(lib, '.js')) {
    const text = readFileSync(path, 'utf8')
    const shown = text.replaceAll(
      /createRequire\(import\.meta\.url\)\('([^']+)'\)/g,
      "require('$1')",
    )
    if (shown !== text) writeFileSync(path, shown)
  }
}

/** esbuild runs as a command: whoever only builds and tests needs none of its types. */
function bundle(entry: string, output: string, format: 'esm' | 'cjs'): string {
  // Packages written as CommonJS ask for Node's modules by a function that modules do not have.
  const require = `import{createRequire as c}from'node:module';const require=c(process.execPath);`
  const shape = ['--bundle', '--platform=node', `--target=node${nodeVersion}`, `--format=${format}`]
  const size = ['--minify-whitespace', '--minify-syntax', '--line-limit=160', '--keep-names']
  const told = [
    '--log-level=error',
    '--legal-comments=none',
    '--log-override:empty-import-meta=silent',
  ]
  const banner = format === 'esm' ? [`--banner:js=${require}`] : []
  const args = [entry, ...shape, ...size, ...told, ...banner, `--outfile=${output}`]
  execFileSync(resolve('node_modules/.bin/esbuild'), args, { stdio: 'pipe' })
  return output
}

/** The data of all modules by their names, which are assets without folders. */
function dataFiles(lib: string): Record<string, string> {
  const files: Record<string, string> = {}
  for (const path of filesOf(lib, '.json')) {
    const name = basename(path)
    if (name === 'package.json') continue
    if (files[name] !== undefined) throw new Error(`two data files have the name ${name}`)
    files[name] = path
  }
  return files
}

function manifest(work: string): string {
  const path = join(work, 'package.json')
  copyFileSync('package.json', path)
  return path
}

function filesOf(folder: string, end: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return paths.filter(path => path.endsWith(end)).map(path => join(folder, path))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const tool = new ToolOptions(`npm run sea -- [OPTION...]
  --arch NAME   the kind of processor: ${architectures.join(' or ')} (this one's)
  --out FOLDER  where the file is put (.cache/release)`)
  const { arch, out } = tool.read({
    options: {
      arch: { type: 'string', default: process.arch },
      out: { type: 'string', default: '.cache/release' },
    },
  }).values
  const one =
    architectures.find(name => name === arch) ??
    tool.refuse(`--arch is ${architectures.join(' or ')}, not ${arch}`)
  const file = buildOneFile(one, out)
  // What is for another kind of processor cannot run here.
  if (one === process.arch) await tryOneFile(file)
  process.stdout.write(`${file}\n`)
}
