/** The cost of entries in memory and to the collector, in one process for each layout. */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The store itself, the other tree, and, in a plain array, what each way to keep values costs by
 *  itself. */
export type Layout = 'store' | 'sorted-btree' | ValueLayout

export type ValueLayout = (typeof valueLayouts)[number]

export const valueLayouts = [
  'no value',
  'window on a slab',
  'view on a slab',
  'exact-size buffer',
  'latin1 string',
] as const

export interface MemoryFigures {
  /** Bytes an entry, key and value included. */
  readonly heap: number
  readonly external: number
  readonly resident: number
  /** Heap and external, and resident, without the bytes of key and value. */
  readonly beyond: number
  readonly residentBeyond: number
  /** Bytes that a change adds beside its value. */
  readonly historyBytes: number
  /** A full collection. */
  readonly collectMs: number
  /** The collector while values were replaced: the longest pause, and all of them. */
  readonly longestMs: number
  readonly totalMs: number
}

const child = fileURLToPath(new URL('./memory-child.js', import.meta.url))

/** Measures one layout in a process with flags of the engine. */
export async function measureMemory(
  layout: Layout,
  size: number,
  flags: readonly string[] = [],
): Promise<MemoryFigures> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    ...flags,
    child,
    layout,
    String(size),
  ])
  return JSON.parse(stdout) as MemoryFigures
}
