/** `npm run bench -- store`: the multi-version store beside the package `sorted-btree`, which is a
 *  persistent tree of the same kind without counts, history, batches and segments. */

import { allKeys } from '../../lib/base/keys.ts'
import { TreeEdit } from '../../lib/store/btree-edit.ts'
import type { BTree } from '../../lib/store/btree.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import type { Bench, BenchOptions, BenchResult, BenchTable } from '../bench.ts'
import { EntryMaker, keysOf } from './contents.ts'
import { Ours } from './contenders.ts'
import { measureMemory, valueLayouts } from './memory.ts'
import { PauseObserver } from './pauses.ts'
import {
  floorsOf,
  growthTable,
  layoutsTable,
  memoryTable,
  pausesTable,
  type SizeResult,
  sizeText,
  timesTable,
  visitsTable,
} from './report.ts'
import { measureRounds } from './turns.ts'
import { visitsOf } from './visits.ts'

interface Sizes {
  readonly sizes: readonly number[]
  readonly held: number
  readonly rounds: number
  readonly batches: number
}

const full: Sizes = {
  sizes: [10_000, 100_000, 1_000_000],
  held: 10_000,
  rounds: 10,
  batches: 100_000,
}
const small: Sizes = { sizes: [500, 2000], held: 100, rounds: 2, batches: 500 }

export const storeBench: Bench = {
  name: 'store',
  summary: 'The multi-version store against sorted-btree: time, growth, memory, pauses.',
  async run({ size, progress }: BenchOptions): Promise<BenchResult> {
    const sizes = size === 'full' ? full : small
    const results: SizeResult[] = []
    for (const keys of sizes.sizes) {
      progress(`${sizeText(keys)} keys`)
      results.push(await measureSize(keys, sizes))
    }
    const most = sizes.sizes.at(-1)!
    progress('layouts of values')
    const layouts = await measureLayouts(most)
    return {
      tables: [
        ...results.map(timesTable),
        growthTable(results),
        visitsTable(results),
        memoryTable(results),
        pausesTable(results),
        layouts,
      ],
      floors: floorsOf(results),
      resultHash: results.map(({ rounds }) => rounds.hash).join(' '),
    }
  },
}

/** The answers of both trees, without the rest of the bench: its hash again. */
export async function answersOf(size: BenchOptions['size']): Promise<string> {
  const { sizes, ...rest } = size === 'full' ? full : small
  const hashes: string[] = []
  for (const keys of sizes) hashes.push((await measureRounds({ size: keys, ...rest })).hash)
  return hashes.join(' ')
}

async function measureSize(size: number, { held, rounds, batches }: Sizes): Promise<SizeResult> {
  const memory = {
    ours: await measureMemory('store', size),
    theirs: await measureMemory('sorted-btree', size),
  }
  const keys = keysOf(size, 1)
  const maker = new EntryMaker()
  const entries = keys.map(key => maker.entry(key, 1))
  const timed = await measureRounds({ size, held, rounds, batches })
  const ours = new Ours(entries, held)
  const visits = measureVisits(ours.tree, entries)
  return { size, rounds: timed, visits, pauses: await measurePauses(ours, maker), memory }
}

function measureVisits(tree: BTree<KeyValue>, entries: readonly KeyValue[]): Map<string, number> {
  const times = 200
  const keyAt = (i: number): KeyValue =>
    entries[Math.floor((i * 0.618_034 * entries.length) % entries.length)]!
  const last = entries.length - 1
  return new Map<string, number>([
    ['point read', visitsOf(tree, times, (spied, i) => spied.get(keyAt(i).key))],
    ['single-key batch', visitsOf(tree, times, (spied, i) => new TreeEdit(spied).put(keyAt(i)))],
    [
      '500-entry scan',
      visitsOf(tree, times, (spied, i) =>
        spied.range({ start: keyAt(i).key, end: undefined }, { limit: 500 }),
      ),
    ],
    [
      'count',
      visitsOf(tree, times, (spied, i) =>
        spied.count({ start: keyAt(i).key, end: entries[last]!.key }),
      ),
    ],
  ])
}

/** Batches, a scan leaf by leaf, and an index built in slices, each slice timed. */
async function measurePauses(
  { keyspace }: Ours,
  maker: EntryMaker,
): Promise<{ longestMs: number; ownMs: number }> {
  const pauses = new PauseObserver()
  let at: number = keyspace.revision
  keyspace.addIndex('last byte', ({ key }) => [key.slice(-1)])
  const change = ({ key }: KeyValue): void => {
    const entry = maker.entry(key, ++at)
    pauses.slice(() => keyspace.apply(entry.modRevision, [{ type: 'put', entry }], at))
  }
  const walk = keyspace.latest().leaves(allKeys)[Symbol.iterator]()
  for (let isMore = true; isMore;) {
    isMore = pauses.slice(() => keyspace.buildIndexes(500))
    const next = pauses.slice(() => walk.next())
    if (next.done !== true) {
      const { entries, from, to } = next.value
      entries.slice(from, to).forEach(change)
    }
  }
  return pauses.finish()
}

/** Each layout by itself, and the chosen one with more room for young objects. */
async function measureLayouts(size: number): Promise<BenchTable> {
  const layouts = []
  for (const layout of valueLayouts) {
    layouts.push({ name: layout as string, figures: await measureMemory(layout, size) })
  }
  for (const flag of ['--max-semi-space-size=64', '--single-threaded-gc']) {
    const figures = await measureMemory('window on a slab', size, [flag])
    layouts.push({ name: `window on a slab, ${flag}`, figures })
  }
  return layoutsTable(size, layouts)
}
