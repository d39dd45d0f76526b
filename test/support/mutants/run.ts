/** `npm run mutate:rules`: turns rules of the code into others, one at a time and in
 *  memory only, and runs the tests that ought to notice. A survivor is a rule that no test knows,
 *  or one that does the same in another way: those are named, with why. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createRandom } from '../../../lib/base/random.ts'
import { type Site, sitesOf } from './sites.ts'

export interface MutantsOptions {
  readonly count: number
  readonly seed: number
  /** Only files whose names have this in them. */
  readonly only: string
  readonly atOnce: number
  readonly onResult: (name: string, noticedBy: string | undefined) => void
}

export interface MutantsReport {
  readonly mutants: number
  readonly survivors: readonly string[]
}

/** The rooms with the rules. */
const rooms = ['validation', 'strategies', 'custom', 'patches', 'ownership', 'decode']
const folder = 'dist/lib/cluster/write'

/** The quickest first: most mutants are noticed by one of them. */
const tests = [
  'lib/cluster/write/validation/answers',
  'lib/cluster/write/patches/recorded',
  'lib/cluster/write/ownership/recorded',
  'lib/cluster/write/ownership/merge',
  'lib/cluster/write/ownership/field-set',
  'lib/cluster/write/custom/schema-check',
  'lib/cluster/write/decode/body',
  'lib/cluster/write/decode/times',
  'lib/cluster/write/model',
  'golden/write-replay',
].map(name => `dist/test/${name}.test.js`)

export async function tryMutants(options: MutantsOptions): Promise<MutantsReport> {
  const reached = new Map(tests.map(test => [test, modulesOf(test)]))
  const all = filesUnder(folder)
    .filter(file => rooms.some(room => file.startsWith(join(folder, room))))
    .filter(file => file.includes(options.only))
    .flatMap(file => sitesOf(file, readFileSync(file, 'utf8')).map(site => ({ file, site })))
  const random = createRandom(options.seed)
  const chosen = all
    .map(mutant => ({ mutant, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, options.count)
    .map(({ mutant }) => mutant)
  const survivors: string[] = []
  const work = chosen.values()
  const worker = async (): Promise<void> => {
    for (const { file, site } of work) {
      const fitting = tests.filter(test => reached.get(test)?.has(file))
      const by = await noticedBy(file, site, fitting)
      if (by === undefined) survivors.push(site.name)
      options.onResult(site.name, by)
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, worker))
  return { mutants: chosen.length, survivors }
}

async function noticedBy(
  file: string,
  { start, end, replacement }: Site,
  fitting: readonly string[],
): Promise<string | undefined> {
  const mutant = { url: pathToFileURL(file).href, start, end, replacement }
  const env = { ...process.env, MUTANT: JSON.stringify(mutant), TAP_TIMEOUT: '300', TAP_BAIL: '1' }
  for (const test of fitting) {
    const args = ['--import', './dist/test/support/mutants/mutated.js', test]
    const process_ = spawn(process.execPath, args, { env, stdio: 'ignore' })
    // A mutant may go on for ever.
    const timer = setTimeout(() => process_.kill('SIGKILL'), 120_000)
    const [code] = (await once(process_, 'exit')) as [number | null]
    clearTimeout(timer)
    if (code !== 0) return test
  }
  return undefined
}

/** The built modules that a test loads. */
function modulesOf(test: string): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (file: string): void => {
    if (found.has(file)) return
    found.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+\.js)'/g)) {
      visit(normalize(join(dirname(file), name)))
    }
  }
  visit(test)
  return found
}

function filesUnder(top: string): string[] {
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.js'))
    .map(entry => join(entry.parentPath, entry.name))
}
