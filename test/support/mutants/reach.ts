/** The parts of the program that each test reaches, as V8 counts them: a mutant concerns only the
 *  tests that run the place where it is. Kept in .cache/mutants. */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { askWorker, endWorker, type Worker } from './workers.ts'
import type { Unrun } from './worker.ts'

export interface Reach {
  readonly test: string
  readonly tookMs: number
  /** Why it fails without a mutant. */
  readonly why?: string | undefined
  readonly unrun: Readonly<Record<string, Unrun>>
}

/** True if the test runs what is at the offset of the module. */
export function reaches({ unrun }: Reach, module: string, offset: number): boolean {
  return unrun[module]?.every(([start, end]) => offset < start || offset >= end) ?? false
}

/** The reach of a test, by a process that has run none before: what is loaded already is not
 *  counted again. It is kept until a module that the test has loaded changes, or the data beside
 *  it: so that a row that is added costs one run, and not one of every test. */
export async function reachOf(test: string, worker: Worker): Promise<Reach> {
  const file = `.cache/mutants/reach-${test.replaceAll('/', '-')}.json`
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Kept) : undefined
  if (kept !== undefined && kept.digest === digestOf(test, kept.loaded)) return kept.reach
  const done = await askWorker(worker, { id: '0', tests: [test] }, 180_000)
  endWorker(worker)
  const { tookMs, unrun = {}, loaded = [] } = done
  const reach = { test, tookMs, why: done.why, unrun }
  mkdirSync('.cache/mutants', { recursive: true })
  writeFileSync(file, JSON.stringify({ reach, loaded, digest: digestOf(test, loaded) }))
  return reach
}

interface Kept {
  readonly reach: Reach
  readonly loaded: readonly string[]
  readonly digest: string
}

function digestOf(test: string, loaded: readonly string[]): string {
  const hash = createHash('sha256')
  const data = dirname(test.slice('dist/'.length))
  for (const file of [...loaded, ...dataIn(data)].sort()) {
    hash.update(file).update(digestOfFile(file))
  }
  return hash.digest('hex')
}

const digests = new Map<string, string>()

function digestOfFile(file: string): string {
  let digest = digests.get(file)
  if (digest === undefined) {
    const hash = createHash('sha256')
    digest = existsSync(file) ? hash.update(readFileSync(file)).digest('hex') : 'none'
    digests.set(file, digest)
  }
  return digest
}

const foldersOfData = new Map<string, readonly string[]>()

function dataIn(folder: string): readonly string[] {
  let files = foldersOfData.get(folder)
  if (files === undefined) {
    files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !entry.name.endsWith('.ts'))
      .map(entry => join(entry.parentPath, entry.name))
    foldersOfData.set(folder, files)
  }
  return files
}
