/** Times both contenders in turns, so that what else the machine does hits both, and takes medians. */

import { createHash } from 'node:crypto'
import { type Key } from '../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { median } from '../bench.ts'
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

/** What one operation took of ours and of theirs, and how the two compare, as medians of rounds. */
export interface Timing {
  readonly oursNs: number
  readonly theirsNs: number
  /** Their time over ours. */
  readonly ratio: number
}

export interface RoundsOptions {
  readonly keys: readonly Key[]
  readonly maker: EntryMaker
  readonly ours: Contender
  readonly theirs: Contender
  /** How many changes ago contents are still held. */
  readonly held: number
  readonly rounds: number
  /** How many single-key batches make a round; the rest follows from it. */
  readonly batches: number
  readonly seed: number
}

export interface Rounds {
  readonly timings: ReadonlyMap<OperationName, Timing>
  readonly hash: string
}

/** One round of one operation: how many it is, and the work, on a contender that both are. */
interface Round {
  readonly times: number
  readonly work: (contender: Contender) => number
}

export function measureRounds(options: RoundsOptions): Rounds {
  const { ours, theirs } = options
  const hash = createHash('sha256')
  const inputs = new Inputs(options)
  // Both hold the contents of the last so many changes from here on.
  const filling = inputs.entries(options.held + 1)
  ours.change(filling)
  theirs.change(filling)
  const timings = new Map<OperationName, Timing>()
  for (const [name, next] of operationsOf(options, inputs)) {
    const oursNs: number[] = []
    const theirsNs: number[] = []
    // One round more than is counted, for the compiler.
    for (let i = 0; i <= options.rounds; i++) {
      const round = next()
      const isOursFirst = i % 2 === 0
      const first = timed(isOursFirst ? ours : theirs, round)
      const second = timed(isOursFirst ? theirs : ours, round)
      if (first.answer !== second.answer) throw new Error(`${name}: the trees disagree`)
      hash.update(`${name} ${first.answer}\n`)
      if (i === 0) continue
      oursNs.push(isOursFirst ? first.ns : second.ns)
      theirsNs.push(isOursFirst ? second.ns : first.ns)
    }
    const ratio = median(theirsNs.map((ns, i) => ns / oursNs[i]!))
    timings.set(name, { oursNs: median(oursNs), theirsNs: median(theirsNs), ratio })
  }
  return { timings, hash: hash.digest('hex').slice(0, 16) }
}

function operationsOf(
  { keys, held, batches }: RoundsOptions,
  inputs: Inputs,
): [OperationName, () => Round][] {
  const scans = Math.ceil(batches / 50)
  const scanned = Math.min(500, keys.length - 1)
  const read = (back: number): Round => {
    const asked = inputs.keys(batches)
    return { times: batches, work: contender => contender.read(asked, back) }
  }
  const scan = (back: number): Round => {
    const ranges = inputs.ranges(scans, scanned)
    return { times: scans, work: contender => contender.scan(ranges, back) }
  }
  return [
    ['single-key batch', () => inputs.changes(batches)],
    ['point read', () => read(0)],
    ['point read, old revision', () => read(inputs.number(1, held))],
    ['500-entry scan', () => scan(0)],
    ['500-entry scan, old revision', () => scan(inputs.number(1, held))],
    [
      'full scan, per entry',
      () => ({ times: keys.length, work: contender => contender.scanAll() }),
    ],
    [
      'count',
      () => {
        const ranges = inputs.ranges(Math.ceil(scans / 20))
        return { times: ranges.length, work: contender => contender.count(ranges) }
      },
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
    // What is young is moved out of the way of the next contender, who would pay for it otherwise.
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

/** Collects young objects, twice, so that they are old: a contender does not pay for what the one before it has made. */
function collectYoung(): void {
  for (let i = 0; i < 2; i++) globalThis.gc?.({ type: 'minor' })
}
