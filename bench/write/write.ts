/** Writes of the API beside bare transactions of the same bytes on the same engine; and how long
 *  after its answer a watcher sees a write. */

import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { measureCosts } from './costs.ts'
import { measureSeen } from './seen.ts'

const sizes = {
  small: { rounds: 1, objects: 20, seen: 20 },
  full: { rounds: 10, objects: 500, seen: 2000 },
}

export const writeBench: Bench = {
  name: 'write',
  summary: 'creates, updates and patches of the API beside bare transactions of the same bytes',
  async run({ size, progress }: BenchOptions): Promise<BenchResult> {
    const { rounds, objects, seen } = sizes[size]
    progress('write: costs')
    const costs = await measureCosts(rounds, objects)
    progress('write: until watchers see it')
    const lags = await measureSeen(seen)
    return {
      tables: [costs.table, lags.table],
      floors: [...costs.floors, lags.floor],
      resultHash: costs.hash,
    }
  },
}
