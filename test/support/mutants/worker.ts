/** A process that runs tests, of the program as it is or of a mutant. The one that has started it
 *  ends it when it takes too long. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { register } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { patient } from '../patience.ts'
import { fileOf, type Mutant } from './hooks.ts'
import { beginFile } from './stand-in.ts'

/** Runs the tests until one fails; with a mutant if there is one. */
export interface Job {
  readonly id: string
  readonly tests: readonly string[]
  readonly mutant?: Mutant | undefined
}

/** Ranges of a module that do not run; a module that is not loaded has no entry. */
export type Unrun = readonly (readonly [start: number, end: number])[]

export interface Done {
  readonly id: string
  /** The test that has failed. */
  readonly by?: string | undefined
  readonly why?: string | undefined
  readonly tookMs: number
  /** Without a mutant. */
  readonly unrun?: Readonly<Record<string, Unrun>> | undefined
  /** The built modules that the test has loaded, without a mutant. */
  readonly loaded?: readonly string[] | undefined
}

register('./hooks.js', import.meta.url)

process.on('message', (job: Job) => {
  void run(job).then(done => process.send?.(done))
})
process.on('disconnect', () => process.exit())
// Rejections that nobody awaits are the mutant's.
process.on('unhandledRejection', () => {})
process.on('uncaughtException', () => {})

async function run({ id, tests, mutant }: Job): Promise<Done> {
  const startMs = performance.now()
  const tookMs = (): number => Math.round(performance.now() - startMs)
  if (mutant === undefined) {
    const session = await startedSession()
    const [test = ''] = tests
    const why = await problemOf(pathToFileURL(resolve(test)).href)
    const by = why === undefined ? undefined : test
    return { id, by, why, tookMs: tookMs(), ...(await reachSince(session)) }
  }
  mkdirSync(dirname(fileOf(id)), { recursive: true })
  writeFileSync(fileOf(id), JSON.stringify(mutant))
  for (const test of tests) {
    const why = await problemOf(`${pathToFileURL(resolve(test)).href}?mutant=${id}`)
    if (why !== undefined) return { id, by: test, why, tookMs: tookMs() }
  }
  return { id, tookMs: tookMs() }
}

/** Why the tests of the file fail; nothing if they pass. */
async function problemOf(url: string): Promise<string | undefined> {
  const root = beginFile()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve('takes too long'), patient(60_000))
  })
  const ran = import(url)
    .then(() => root.ended())
    .then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
  try {
    return await Promise.race([ran, late])
  } finally {
    await Promise.race([root.tearDown().catch(() => {}), late])
    clearTimeout(timer)
  }
}

let session: Session | undefined

async function startedSession(): Promise<Session> {
  if (session !== undefined) return session
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return session
}

async function reachSince(from: Session): Promise<Pick<Done, 'unrun' | 'loaded'>> {
  const { result } = await from.post('Profiler.takePreciseCoverage')
  const unrun: Record<string, Unrun> = {}
  const loaded: string[] = []
  for (const { url, functions } of result) {
    if (!url.includes('/dist/')) continue
    const file = relative(process.cwd(), fileURLToPath(url))
    loaded.push(file)
    if (!file.startsWith('dist/lib/')) continue
    unrun[file] = functions
      .flatMap(({ ranges }) => ranges)
      .filter(({ count }) => count === 0)
      .map(({ startOffset, endOffset }) => [startOffset, endOffset] as const)
  }
  return { unrun, loaded }
}
