/** The options of state that lasts: where the embedded etcd keeps it, and when a write counts. */

import { resolve } from 'node:path'
import { CacheError } from '../base/errors.ts'
import type { Option } from './option.ts'
import type { OptionValues } from './option-values.ts'

export const dataFolderOptions: readonly Option[] = [
  {
    name: 'data-dir',
    value: 'DIR',
    help: 'Keeps the state of the embedded etcd in this folder, which is made if it is missing, and goes on from there at the next start. --load and --generate fill a new folder only.',
  },
  {
    name: 'durability',
    value: 'WHEN',
    choices: ['os', 'fsync'],
    help: 'When a write to --data-dir is answered. os: the system has it, so that it outlives the process (default). fsync: the disk has it, so that it outlives a power failure.',
  },
]

export interface DataFolderOptions {
  readonly folder: string
  readonly durability: 'os' | 'fsync'
}

/** The folder that the options ask for; undefined for an etcd in memory. */
export function dataFolderOf(values: OptionValues): DataFolderOptions | undefined {
  const folder = values.text('data-dir')
  const durability = values.text('durability')
  if (durability !== undefined && durability !== 'os' && durability !== 'fsync') {
    throw invalid(`--durability "${durability}" is not os or fsync`)
  }
  if (folder !== undefined) return { folder: resolve(folder), durability: durability ?? 'os' }
  if (durability === undefined) return undefined
  throw invalid('--durability needs --data-dir: the folder that is written to')
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
