/** The keyspace against a model that keeps every revision whole: random batches, progress,
 *  compactions, restores, refusals, snapshots, ranges, positions and indexes, over sets of keys
 *  that are made to hurt. */

import { inspect } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { type Key, keyFromBytes, keyFromText } from '../../lib/base/keys.ts'
import { StoreScenario } from '../support/store/store-scenario.ts'
import { operations } from '../support/store/store-operations.ts'
import { effort } from '../support/effort.ts'
import { anyCharacter } from '../support/kube/any-character.ts'

const operationsMin = 12_000 * effort

/** Replays one seed and shrinks what fails. Without it a failure is told as it is, because
 *  shrinking takes minutes. */
const seed = process.env['STORE_SEED']

const utf8 = fc.string({ unit: anyCharacter, maxLength: 6 }).map(keyFromText)
const bytes = fc.uint8Array({ maxLength: 5 }).map(keyFromBytes)

/** No bytes, zeros and 0xff at the ends, keys that others begin with, bytes that are no UTF-8, text
 *  beyond the first plane. */
const nastyKeys: readonly Key[] = [
  '/ 00 0000 00ff ff ff00 ffff ffffff',
  '61 6100 610000 61ff 6162 616263 61626300 62',
  'c3 c328 e282 eda080 f888 80',
  ['é', 'e\u0301', '😀', '😀a', '𝒳', '\uffff', '\u{10ffff}'].map(hexOf).join(' '),
]
  .flatMap(line => line.split(' '))
  .map(hex => keyFromBytes(Buffer.from(hex === '/' ? '' : hex, 'hex')))

/** Many keys, so that the tree has levels: alike at the beginning, at the end, or not at all. */
const manyKeys = fc
  .record({ size: fc.integer({ min: 40, max: 3000 }), prefix: bytes, form: fc.nat({ max: 2 }) })
  .map(({ size, prefix, form }) =>
    Array.from({ length: size }, (_, i) => {
      const number = form === 0 ? String(i).padStart(4, '0') : (i * 2_654_435_761) % 0xffff_ffff
      return (prefix + (form === 2 ? `${i % 7}/` : '') + keyFromText(String(number))) as Key
    }),
  )

const keySets = fc.oneof(
  { weight: 3, arbitrary: fc.constant(nastyKeys) },
  { weight: 1, arbitrary: fc.uniqueArray(fc.oneof(bytes, utf8), { minLength: 1, maxLength: 80 }) },
  { weight: 2, arbitrary: manyKeys },
)

const scenarios = fc.record({
  keys: keySets,
  bounds: fc.record({
    maxBatches: fc.oneof(fc.constant(Infinity), fc.nat({ max: 40 })),
    maxAgeMs: fc.oneof(fc.constant(Infinity), fc.nat({ max: 60 })),
    maxBytes: fc.constant(Infinity),
  }),
  operations: fc.array(operations, { maxLength: 1200, size: 'max' }),
})

t.test('the keyspace answers as a model that keeps every revision whole', async t => {
  let count = 0
  const property = fc.property(scenarios, ({ keys, bounds, operations }) => {
    const scenario = new StoreScenario([...new Set(keys)].sort(), bounds)
    for (const operation of operations) scenario.run(operation)
    count += operations.length
  })
  if (seed !== undefined) {
    fc.assert(property, { seed: Number(seed), numRuns: 50 })
    return
  }
  while (count < operationsMin) {
    const result = fc.check(property, { endOnFailure: true, numRuns: 10 })
    if (!result.failed) continue
    const error = result.errorInstance
    throw new Error(`STORE_SEED=${result.seed} replays this: ${inspect(error)}`, { cause: error })
  }
  t.ok(count >= operationsMin)
})

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex')
}
