/** Memory and processor that the program needs for so many objects: the rows of docs/SIZING.md,
 *  against a real etcd. `npm run bench -- sizing 100,000` measures those rows that have the word in
 *  their name. */

import { createHash } from 'node:crypto'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { kinds } from './kinds.ts'
import { floorsOf, tablesOf } from './report.ts'
import { measureRow, type RowReport } from './row.ts'

export const sizingBench: Bench = {
  name: 'sizing',
  summary: 'memory, start, lists and changes with 10,000 to 1,000,000 pods or custom resources',
  run,
}

interface Size {
  readonly objects: readonly number[]
  readonly watchers: number
  readonly changesMs: number
  readonly settleMs: number
  /** Starts with several threads, of the row with so many objects. */
  readonly threads: readonly number[]
  readonly threadsObjects: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: {
    objects: [2_000],
    watchers: 3,
    changesMs: 200,
    settleMs: 0,
    threads: [],
    threadsObjects: 0,
  },
  full: {
    objects: [10_000, 100_000, 1_000_000],
    watchers: 100,
    changesMs: 20_000,
    settleMs: 5_000,
    threads: [1, 2, 4],
    threadsObjects: 100_000,
  },
}

const perSecond = 100

async function run({ size, progress, only = [] }: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const { objects, threads, threadsObjects, ...settings } = sizes[size]
  const rows: RowReport[] = []
  for (const count of objects) {
    for (const kind of kinds) {
      const name = `${count.toLocaleString('en-US')} ${kind.name}`
      if (only.length > 0 && !only.some(word => name.includes(word))) continue
      const ofRow = count === threadsObjects ? threads : []
      const plan = { ...settings, kind, objects: count, perSecond, threads: ofRow }
      rows.push(await measureRow(plan, etcd, stage => progress(`${name}: ${stage}`)))
    }
  }
  return { tables: tablesOf(rows), floors: floorsOf(rows), resultHash: hashOf(rows) }
}

/** The hash of the sizes of answers, which stay as they are. */
function hashOf(rows: readonly RowReport[]): string {
  const bytes = rows.map(row => row.objects * row.jsonBytes)
  return createHash('sha256').update(bytes.join(' ')).digest('hex').slice(0, 16)
}
