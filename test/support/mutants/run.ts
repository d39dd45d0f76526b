/** `npm run mutate:rules`: turns rules of the code into others, one at a time and in memory only,
 *  and runs the tests that reach the place, the quickest first. A survivor is a rule that no test
 *  knows, or one that does the same in another way: survivors.md names those, with why. */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { patient } from '../patience.ts'
import { allTestFiles } from '../runner/test-files.ts'
import { Compiler } from './compiler.ts'
import { type Reach, reaches, reachOf } from './reach.ts'
import { type Site, sitesOf } from './sites.ts'
import { askWorker, endWorker, newWorker, type Worker } from './workers.ts'

export interface MutantsOptions {
  readonly count: number
  readonly seed: number
  /** As many of the seed's were tried before: a draw may be made in parts. */
  readonly from: number
  /** Only files whose names have this in them. */
  readonly only: string
  /** Only rules of validation, warnings, strategy, defaults, conversion and columns. */
  readonly isRules: boolean
  /** Only those that lived when the seed was tried last. */
  readonly isLive: boolean
  readonly atOnce: number
  /** Mutants that change nothing: no test may fail. */
  readonly isControl: boolean
  readonly onReach: (reach: Reach) => void
  readonly onResult: (result: Result) => void
}

export interface Result {
  readonly key: string
  readonly name: string
  /** The test that noticed, or the compiler. */
  readonly by: string | undefined
  /** As many tests reach the place. */
  readonly tests: number
}

/** The name under which a text counts that its type does not allow. */
export const byCompiler = 'the compiler'

/** The rooms with the rules. */
const rooms = ['writes', 'simulator/pod-rules', 'simulator/housekeeping', 'kube', 'codec'].map(
  room => join('dist/lib', room),
)

/** The folders in which nearly every line is a rule of Kubernetes: what a text table can say. */
const rules =
  /^dist\/lib\/(?:writes\/(?:kinds|validation|warnings)|simulator\/pod-rules|codec\/(?:served\/(?:convert|stored)|table\/printers))\//

/** The tests that are asked: of these rooms, of controllers and definitions in a service, and
 *  recordings. Tests of http and of processes were asked once, and noticed nothing more. */
const asked =
  /^dist\/test\/(?:(?:cel|writes|simulator|codec|kube|cli\/compose\/(?:controllers|definitions|applied-custom))\b|golden\/(?:admission|cases|cel-rules|drop|objects|openapi|outputs|shards|webhooks|write-replay)\.)/

/** Tests that take longer are not asked: they would be, for each mutant that nothing else
 *  notices. */
const slowMaxMs = patient(60_000)

export async function tryMutants(options: MutantsOptions): Promise<Result[]> {
  const tests = allTestFiles().filter(test => asked.test(test))
  const reached: Reach[] = []
  await each(tests, options.atOnce, async (test, worker) => {
    const reach = await reachOf(test, worker)
    options.onReach(reach)
    if (reach.why === undefined && reach.tookMs <= slowMaxMs) reached.push(reach)
  })
  reached.sort((a, b) => a.tookMs - b.tookMs)
  const importers = importersIn([...tests, ...filesUnder('dist/lib'), ...filesUnder('dist/test')])
  const results: Result[] = []
  const compiler = new Compiler()
  await each(
    [...chosen(options).entries()],
    options.atOnce,
    async ([i, { file, site }], worker) => {
      const fitting = reached.filter(reach => reaches(reach, file, site.start))
      const { start, end, name, key } = site
      const source = readFileSync(file, 'utf8')
      const replacement = options.isControl ? source.slice(start, end) : site.replacement
      const job = {
        id: String(i),
        tests: fitting.map(({ test }) => test),
        mutant: { module: urlOf(file), start, end, replacement, again: againFor(file, importers) },
      }
      const slowMs = fitting.reduce((sum, { tookMs }) => sum + tookMs, 0)
      const { by: noticed } =
        fitting.length === 0 ? { by: undefined } : await askWorker(worker, job, 30_000 + 4 * slowMs)
      const isAllowed = noticed !== undefined || options.isControl
      const by = isAllowed || !(await compiler.refuses(file, site)) ? noticed : byCompiler
      const result = { key, name, by, tests: fitting.length }
      results.push(result)
      options.onResult(result)
    },
  )
  if (!options.isControl) keepLived(options, results)
  return results
}

interface Choice {
  readonly file: string
  readonly site: Site
}

/** The first in the order of a hash that has the seed in it: a draw stays the same while the code
 *  around it changes, so that what lived can be tried again. */
function chosen({ count, seed, from, only, isRules, isLive }: MutantsOptions): Choice[] {
  const lived = isLive ? new Set(livedOf(seed)) : undefined
  return rooms
    .flatMap(filesUnder)
    .filter(file => file.includes(only) && (!isRules || rules.test(file)))
    .flatMap(file => sitesOf(file, readFileSync(file, 'utf8')).map(site => ({ file, site })))
    .filter(({ site }) => lived?.has(site.key) ?? true)
    .map(choice => ({
      choice,
      at: createHash('sha256').update(`${seed} ${choice.site.key}`).digest('hex'),
    }))
    .sort((a, b) => (a.at < b.at ? -1 : 1))
    .slice(from, from + count)
    .map(({ choice }) => choice)
}

function fileOfLived(seed: number): string {
  return `.cache/mutants/lived-${seed}.json`
}

function livedOf(seed: number): string[] {
  const file = fileOfLived(seed)
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : []
}

/** Notes the mutants that lived, beside those of the parts of the draw before. */
function keepLived({ seed, from }: MutantsOptions, results: readonly Result[]): void {
  const lived = results.filter(({ by }) => by === undefined).map(({ key }) => key)
  const all = from === 0 ? lived : [...new Set([...livedOf(seed), ...lived])]
  mkdirSync('.cache/mutants', { recursive: true })
  writeFileSync(fileOfLived(seed), JSON.stringify(all, null, 2))
}

/** Works at some at once, each with a process of its own. */
async function each<T>(
  list: readonly T[],
  atOnce: number,
  work: (item: T, worker: Worker) => Promise<void>,
): Promise<void> {
  const items = list.values()
  const go = async (): Promise<void> => {
    const worker = newWorker()
    for (const item of items) await work(item, worker)
    endWorker(worker)
  }
  await Promise.all(Array.from({ length: atOnce }, go))
}

/** The built modules that import each. */
function importersIn(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const file of new Set(files)) {
    const text = readFileSync(file, 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+\.js)'/g)) {
      const imported = normalize(join(dirname(file), name))
      const importers = found.get(imported)
      if (importers === undefined) found.set(imported, [file])
      else importers.push(file)
    }
  }
  return found
}

/** The addresses of a module and of all that import it, at once or by others. */
function againFor(file: string, importers: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Set([file])
  for (const one of found) for (const importer of importers.get(one) ?? []) found.add(importer)
  return [...found].map(urlOf)
}

function urlOf(file: string): string {
  return pathToFileURL(resolve(file)).href
}

function filesUnder(top: string): string[] {
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.js'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}
