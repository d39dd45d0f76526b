/** A process that writes to a data folder until it is killed: it says what it has found, and then
 *  each write that was answered. Arguments: the folder, the durability, a seed. */

import { writeSync } from 'node:fs'
import { allKeys, type Key, keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import { openKept } from './data-folder.ts'

/** A line of its output. */
export type Said =
  | {
      readonly found: Readonly<Record<string, readonly [count: number, modRevision: number]>>
      readonly revision: number
      readonly warnings: number
    }
  | { readonly keys: readonly string[]; readonly count: number; readonly revision: number }

const writers = 8

function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`)
}

const [folder = '', durability, seed] = process.argv.slice(2)
const random = createRandom(Number(seed))
let warnings = 0
const logger = { debug() {}, info() {}, error() {}, warn: () => void warnings++ }
const kept = await openKept(folder, {
  durability: durability === 'fsync' ? 'fsync' : 'os',
  logger,
  compactMinBytes: 20_000,
})
const { engine, client } = kept
const entries = engine.at(engine.revision).range(allKeys, { limit: undefined })
const countOf = (value: Uint8Array): number => Number(Buffer.from(value).toString().split(' ')[0])
say({
  found: Object.fromEntries(
    entries.map(entry => [textFromKey(entry.key), [countOf(entry.value), entry.modRevision]]),
  ),
  revision: engine.revision,
  warnings,
})

/** Each writer has two keys, which it writes in one transaction. */
async function write(writer: number): Promise<never> {
  const keys = [`/${writer}/a`, `/${writer}/b`]
  const known = engine.at(engine.revision).get(keyFromText(keys[0] as string) as Key)
  for (let count = known === undefined ? 1 : countOf(known.value) + 1; ; count++) {
    const value = Buffer.from(`${count} ${'x'.repeat(randomInt(random, 0, 400))}`)
    const success = keys.map(key => ({ type: 'put' as const, key: keyFromText(key), value }))
    const { header } = await client.txn({ compares: [], success, failure: [] })
    say({ keys, count, revision: header.revision })
    if (writer === 0 && count % 20 === 0) await client.compact(revision(header.revision - 5))
  }
}

await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
