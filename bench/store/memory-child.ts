/** One process of the memory measurements: loads entries in one layout, measures their size and,
 *  for the store, the size of a change in the history. Prints one line of JSON. It is a separate
 *  process, because resident memory is meaningful only in a new one. Arguments: layout, size. */

import type { Key } from '../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import { BTreeBuilder } from '../../lib/store/btree-builder.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { SlabWriter } from '../../lib/store/slab.ts'
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js'
import { compareKeys } from '../../lib/base/keys.ts'
import { median } from '../bench.ts'
import { copyOf, EntryMaker, keysOf, valueBytes } from './contents.ts'
import type { Layout, MemoryFigures } from './memory.ts'
import { PauseObserver } from './pauses.ts'

/** The number of changes with which the history is weighed, and of those with which the collector
 *  is watched. */
const historyChanges = 10_000
const churnChanges = 200_000

const [layout, sizeText] = process.argv.slice(2)
process.stdout.write(`${JSON.stringify(await measure(layout as Layout, Number(sizeText)))}\n`)

async function measure(layout: Layout, size: number): Promise<MemoryFigures> {
  const keys = keysOf(size, 1)
  const keyBytes = keys.reduce((sum, key) => sum + key.length, 0) / size
  collect()
  const before = process.memoryUsage()
  const holder = holderOf(layout)
  // Keys are strings of their own here, as those from the wire are, so they are weighed with the
  // entries.
  for (const key of keys) holder.add(copyOf(key))
  holder.finish?.()
  collect()
  const after = process.memoryUsage()
  const collectMs = median([0, 1, 2].map(collect))
  const weight = (memory: NodeJS.MemoryUsage): number => memory.heapUsed + memory.external
  const figures = {
    heap: (after.heapUsed - before.heapUsed) / size,
    external: (after.external - before.external) / size,
    beyond: (weight(after) - weight(before)) / size - keyBytes - valueBytes,
    resident: (after.rss - before.rss) / size,
    residentBeyond: (after.rss - before.rss) / size - keyBytes - valueBytes,
    collectMs,
  }
  const random = createRandom(2)
  const pick = (): Key => copyOf(keys[randomInt(random, 0, size - 1)]!)
  const changes = Math.min(historyChanges, size)
  for (let i = 0; i < changes; i++) holder.change(pick())
  collect()
  const historyBytes = (weight(process.memoryUsage()) - weight(after)) / changes - valueBytes
  const pauses = new PauseObserver()
  for (let i = 0; i < Math.min(churnChanges, size); i++) holder.change(pick())
  const { longestMs, totalMs } = await pauses.finish()
  return { ...figures, historyBytes, longestMs, totalMs }
}

/** Runs a full collection and says how long it took. */
function collect(): number {
  const start = performance.now()
  globalThis.gc?.()
  return performance.now() - start
}

/** The structure that holds the entries. */
interface Holder {
  add(key: Key): void
  finish?(): void
  /** Gives a key a new value. */
  change(key: Key): void
}

function holderOf(layout: Layout): Holder {
  switch (layout) {
    case 'store':
      return storeHolder()
    case 'sorted-btree':
      return sortedHolder()
    case 'no value':
      return plainHolder(() => undefined)
    case 'window on a slab': {
      const slabs = new SlabWriter()
      return plainHolder(value => slabs.copy(value))
    }
    case 'view on a slab': {
      const slabs = new SlabWriter()
      return plainHolder(value => {
        const { bytes, start, end } = slabs.copy(value)
        return bytes.subarray(start, end)
      })
    }
    case 'exact-size buffer':
      return plainHolder(value => {
        const copy = Buffer.allocUnsafeSlow(value.length)
        copy.set(value)
        return copy
      })
    case 'latin1 string':
      return plainHolder(value => value.toString('latin1'))
  }
}

function storeHolder(): Holder {
  const maker = new EntryMaker()
  const builder = new BTreeBuilder<KeyValue>()
  const keyspace = new Keyspace({
    maxBatches: historyChanges,
    maxAgeMs: Infinity,
    maxBytes: Infinity,
  })
  let at = 1
  return {
    add: key => builder.add(maker.entry(key, 1)),
    finish: () => keyspace.restore(builder.finish(), revision(1)),
    change(key) {
      const entry = maker.entry(key, ++at)
      keyspace.apply(entry.modRevision, [{ type: 'put', entry }], at)
    },
  }
}

function sortedHolder(): Holder {
  const maker = new EntryMaker()
  const keys: Key[] = []
  const entries: KeyValue[] = []
  let tree: ReturnType<typeof bulkLoad<Key, KeyValue>>
  const held: unknown[] = []
  let at = 1
  return {
    add(key) {
      keys.push(key)
      entries.push(maker.entry(key, 1))
    },
    finish() {
      tree = bulkLoad(keys.splice(0), entries.splice(0), 32, compareKeys)
    },
    change(key) {
      tree.set(key, maker.entry(key, ++at))
      held[at % historyChanges] = tree.clone()
    },
  }
}

/** Entries of a key, the four numbers and a value, in an array: what the layout of the value alone
 *  costs. */
function plainHolder(layOut: (value: Buffer) => object | string | undefined): Holder {
  const value = Buffer.alloc(valueBytes, 'value ')
  const entries: unknown[] = []
  const indexes = new Map<Key, number>()
  const entryOf = (key: Key): unknown => {
    const laid = layOut(value)
    const numbers = { create: 1, modify: 2, version: 3, lease: 4 }
    if (laid === undefined || typeof laid === 'string' || laid instanceof Uint8Array) {
      return { key, ...numbers, value: laid }
    }
    const { bytes, start, end } = laid as { bytes: Uint8Array; start: number; end: number }
    return { key, ...numbers, bytes, start, end }
  }
  let next = 0
  return {
    add(key) {
      entries.push(entryOf(key))
    },
    change(key) {
      next = (next + 7919) % entries.length
      entries[indexes.get(key) ?? next] = entryOf(key)
    },
  }
}
