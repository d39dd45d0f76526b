/** The parts of the program that each test reaches, as V8 counts them: a mutant concerns only the
 *  tests that run the place where it is. Kept in .cache/mutants until anything that is built
 *  changes. */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askWorker, type Worker } from './workers.ts'
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
 *  counted again. */
export async function reachOf(test: string, built: string, worker: Worker): Promise<Reach> {
  const key = createHash('sha256').update(built).update(test).digest('hex').slice(0, 16)
  const file = `.cache/mutants/reach-${key}.json`
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Reach
  const done = await askWorker(worker, { id: '0', tests: [test] }, 180_000)
  const { tookMs, unrun = {} } = done
  const reach = { test, tookMs, why: done.why, unrun }
  mkdirSync('.cache/mutants', { recursive: true })
  writeFileSync(file, JSON.stringify(reach))
  return reach
}

/** Changes with every module. */
export function digestOfBuilt(): string {
  const hash = createHash('sha256')
  for (const entry of readdirSync('dist', { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.js')) continue
    hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)))
  }
  return hash.digest('hex')
}
