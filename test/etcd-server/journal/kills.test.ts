import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, watch } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { effort } from '../../support/effort.ts'
import type { Said } from '../../support/etcd/kept-writer.ts'
import { programFlags } from '../../support/program/program-flags.ts'

/** `EFFORT=160` kills a thousand. */
const kills = 6 * effort

const writer = new URL('../../support/etcd/kept-writer.js', import.meta.url).pathname

/** Lines of a writer that is killed after it has said so many. */
async function killedAfter(lines: number, ...args: string[]): Promise<Said[]> {
  const child = spawn(process.execPath, [...programFlags(), writer, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    if (text.split('\n').length > lines) child.kill('SIGKILL')
  })
  await once(child, 'close')
  // The last line may have been cut off.
  const whole = text.split('\n').slice(0, -1)
  return whole.map(line => JSON.parse(line) as Said)
}

/** A writer that is left alone until a snapshot is whole and the files before it are removed: on a
 *  slow machine each of those before was killed earlier. */
async function untilFilesAreRemoved(folder: string, ...args: string[]): Promise<void> {
  const ended = new AbortController()
  const changes = watch(folder, { signal: ended.signal })
  const child = spawn(process.execPath, [...programFlags(), writer, folder, ...args], {
    stdio: 'ignore',
  })
  const closed = once(child, 'close').then(() => ended.abort())
  try {
    for await (const _ of changes) {
      const logs = (await readdir(folder)).filter(name => name.startsWith('log-')).sort()
      if (logs.length < Number(logs.at(-1)?.slice('log-'.length))) break
    }
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}

/** A folder whose writers are killed, half of the times. */
async function loseNothing(t: Test, durability: 'os' | 'fsync'): Promise<void> {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
  t.comment(`SEED=${seed}`)
  const random = createRandom(seed)
  const folder = join(t.testdir({}), 'data')
  let answered = new Map<string, { count: number; revision: number }>()
  let torn = 0
  let highest = 0
  for (let kill = 0; kill < kills / 2; kill++) {
    const lines = randomInt(random, 1, 150)
    const [found, ...writes] = await killedAfter(lines, folder, durability, `${seed + kill}`)
    if (found === undefined || !('found' in found)) throw new Error('the writer has not begun')
    torn += found.warnings
    for (const [key, { count, revision }] of answered) {
      const [foundCount, modRevision] = found.found[key] ?? [0, 0]
      const isThere = foundCount === count ? modRevision === revision : foundCount > count
      if (!isThere) t.fail(`kill ${kill}: ${key} was ${count} at ${revision}, is ${foundCount}`)
    }
    for (const [key, [count]] of Object.entries(found.found)) {
      const twin = key.replace(/a$/, 'b')
      if (found.found[twin]?.[0] !== count) t.fail(`kill ${kill}: ${key} and ${twin} differ`)
    }
    if (found.revision < highest) t.fail(`kill ${kill}: back to revision ${found.revision}`)
    answered = new Map()
    for (const said of writes) {
      if (!('keys' in said)) continue
      for (const key of said.keys) answered.set(key, said)
      highest = Math.max(highest, said.revision)
    }
  }
  t.ok(highest > kills)
  await untilFilesAreRemoved(folder, durability, `${seed}`)
  t.pass('old files are removed')
  t.comment(`${kills / 2} kills, revision ${highest}, ${torn} torn ends`)
}

for (const durability of ['os', 'fsync'] as const) {
  t.test(`a process that is killed loses nothing that it has answered: ${durability}`, t =>
    loseNothing(t, durability),
  )
}
