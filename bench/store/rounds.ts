/** The rounds of work of which `npm run bench -- store` is made: the same for every contender, from
 *  a seed. */

import { type Key } from '../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { copyOf, type EntryMaker } from './contents.ts'
import type { Bounded, Contender } from './contenders.ts'

export type OperationName =
  | 'single-key batch'
  | 'point read'
  | 'point read, old revision'
  | '500-entry scan'
  | '500-entry scan, old revision'
  | 'full scan, per entry'
  | 'count'

export interface RoundsOptions {
  readonly keys: readonly Key[]
  readonly maker: EntryMaker
  readonly contender: Contender
  /** Age of the oldest contents that are still held, in changes. */
  readonly held: number
  readonly rounds: number
  /** Number of single-key batches in a round; the rest follows from it. Enough for several
   *  collections: whether the only one falls into a round or behind it would be most of what is
   *  measured. */
  readonly batches: number
  readonly seed: number
}

/** One contender's result in one round. */
export interface RoundResult {
  readonly name: OperationName
  readonly isWarmUp: boolean
  readonly ns: number
  readonly answer: number
}

/** One round of one operation: how many it is, and the work, on a contender that both are. */
interface Round {
  readonly times: number
  readonly work: (contender: Contender) => number
}

/** The rounds of one contender, one with each step. */
export function* roundsOf(options: RoundsOptions): Generator<RoundResult, void> {
  const { contender, held, rounds } = options
  const inputs = new Inputs(options)
  // It holds the contents of the last so many changes from here on.
  contender.change(inputs.entries(held + 1))
  for (const together of operationsOf(options, inputs)) {
    // One round more than is counted, for the compiler.
    for (let i = 0; i <= rounds; i++) {
      for (const [name, next] of together) {
        const { ns, answer } = timed(contender, next())
        yield { name, isWarmUp: i === 0, ns, answer }
      }
    }
  }
}

/** All operations. Those that are compared with each other take turns, so that what else the
 *  machine does hits both. */
function operationsOf(
  { keys, held, batches }: RoundsOptions,
  inputs: Inputs,
): [OperationName, () => Round][][] {
  const reads = Math.ceil(batches / 5)
  const scans = Math.ceil(reads / 50)
  const scanned = Math.min(500, keys.length - 1)
  const read = (back: number): Round => {
    const asked = inputs.keys(reads)
    return { times: reads, work: contender => contender.read(asked, back) }
  }
  const scan = (back: number): Round => {
    const ranges = inputs.ranges(scans, scanned)
    return { times: scans, work: contender => contender.scan(ranges, back) }
  }
  const scanAll = (): Round => {
    // As many entries whatever the size: one scan of few is over before the compiler has seen it.
    const times = Math.ceil((50 * reads) / keys.length)
    const work = (contender: Contender): number => {
      let sum = 0
      for (let i = 0; i < times; i++) sum += contender.scanAll()
      return sum
    }
    return { times: times * keys.length, work }
  }
  return [
    [['single-key batch', () => inputs.changes(batches)]],
    [
      ['point read', () => read(0)],
      ['point read, old revision', () => read(inputs.number(1, held))],
    ],
    [
      ['500-entry scan', () => scan(0)],
      ['500-entry scan, old revision', () => scan(inputs.number(1, held))],
    ],
    [['full scan, per entry', () => scanAll()]],
    [
      [
        'count',
        () => {
          const ranges = inputs.ranges(Math.ceil(scans / 20))
          return { times: ranges.length, work: contender => contender.count(ranges) }
        },
      ],
    ],
  ]
}

/** Random work that does not depend on who does it. */
class Inputs {
  readonly #keys: readonly Key[]
  readonly #maker: EntryMaker
  readonly #random: Random
  #revision = 1

  constructor({ keys, maker, seed }: RoundsOptions) {
    this.#keys = keys
    this.#maker = maker
    this.#random = createRandom(seed)
  }

  number(min: number, max: number): number {
    return randomInt(this.#random, min, max)
  }

  keys(count: number): Key[] {
    return Array.from({ length: count }, () =>
      copyOf(this.#keys[this.number(0, this.#keys.length - 1)]!),
    )
  }

  /** A next entry for so many keys, one revision each. */
  entries(count: number): KeyValue[] {
    return this.keys(count).map(key => this.#maker.entry(key, ++this.#revision))
  }

  changes(count: number): Round {
    const entries = this.entries(count)
    const work = (contender: Contender): number => {
      contender.change(entries)
      return count
    }
    return { times: count, work }
  }

  /** Ranges of so many entries, or of any number. */
  ranges(count: number, entries?: number): Bounded[] {
    const last = this.#keys.length - 1
    return Array.from({ length: count }, () => {
      const a = this.number(0, entries === undefined ? last : last - entries)
      const b = entries === undefined ? this.number(0, last) : a + entries
      return { start: this.#keys[Math.min(a, b)]!, end: this.#keys[Math.max(a, b)]! }
    })
  }
}

function timed(contender: Contender, { times, work }: Round): { ns: number; answer: number } {
  collectYoung()
  const start = process.hrtime.bigint()
  const answer = work(contender)
  return { ns: Number(process.hrtime.bigint() - start) / times, answer }
}

/** Collects young objects, twice, so that they are old: a round does not pay for what its inputs
 *  have left. */
function collectYoung(): void {
  for (let i = 0; i < 2; i++) globalThis.gc?.({ type: 'minor' })
}
