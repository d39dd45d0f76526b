/** The folder of state that lasts, as the options ask for it. */

import { resolve } from 'node:path'
import { CacheError } from '@watchglass/base'
import type { DataFolderOptions } from '@watchglass/etcd-server'
import type { OptionValues } from '../../options/option-values.ts'

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
