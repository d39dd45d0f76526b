/** The compiler, as the first test of all: a text that its type does not allow fails the build. So
 *  a mutant is noticed that no test can tell apart, as only the other text is ever asked for. Asked
 *  about texts that no test has noticed, one at a time, in a copy of the sources. */

import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Site } from './sites.ts'

const folder = '.cache/mutants/types'
const run = promisify(execFile)

export class Compiler {
  #ready: Promise<void> | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** True if the sources with the changed text do not compile. */
  refuses(file: string, site: Site): Promise<boolean> {
    if (!site.replacement.startsWith("'")) return Promise.resolve(false)
    const answer = this.#turn.then(() => this.#ask(file, site))
    this.#turn = answer.catch(() => {})
    return answer
  }

  async #ask(file: string, { start, end, replacement }: Site): Promise<boolean> {
    await (this.#ready ??= prepare())
    const built = readFileSync(file, 'utf8')
    const before = built.slice(0, start).split('\n')
    const map = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMapPayload
    const column = before.at(-1)?.length ?? 0
    const found = new SourceMap(map).findEntry(before.length - 1, column)
    if (!('originalLine' in found)) return false
    const name = file.slice('dist/'.length).replace(/\.js$/, '.ts')
    const source = readFileSync(name, 'utf8')
    const lines = source.split('\n').slice(0, found.originalLine)
    const at = lines.reduce((sum, { length }) => sum + length + 1, found.originalColumn)
    const text = built.slice(start, end)
    // A text that is written in another way in the source is left to the tests.
    if (source.slice(at, at + text.length) !== text) return false
    const changed = source.slice(0, at) + replacement + source.slice(at + text.length)
    writeFileSync(`${folder}/${name}`, changed)
    try {
      return !(await compiles())
    } finally {
      writeFileSync(`${folder}/${name}`, source)
    }
  }
}

async function prepare(): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync('lib', `${folder}/lib`, { recursive: true })
  for (const name of ['node_modules', 'package.json']) {
    if (existsSync(name)) symlinkSync(resolve(name), `${folder}/${name}`)
  }
  const { compilerOptions } = JSON.parse(readFileSync('tsconfig.base.json', 'utf8')) as {
    readonly compilerOptions: object
  }
  // The links of npm lead to the sources, not to the copy.
  const paths = { '@watchglass/*': ['./lib/*/index.ts', './lib/*.ts'] }
  const own = { composite: false, incremental: true, noEmit: true, paths }
  const options = { ...compilerOptions, ...own, tsBuildInfoFile: './.tsbuildinfo' }
  const config = { compilerOptions: options, include: ['lib', 'lib/**/*.json'] }
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config))
  if (!(await compiles())) throw new Error(`the sources do not compile in ${folder}`)
}

/** Whether the copy compiles; throws if the compiler cannot be asked. */
async function compiles(): Promise<boolean> {
  try {
    await run('npx', ['tsc', '-p', folder])
    return true
  } catch (error) {
    const said = (error as { readonly stdout?: string }).stdout ?? ''
    if (!/error TS\d+/.test(said)) throw error
    return false
  }
}
