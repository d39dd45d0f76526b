/** The folder of state that lasts, as the options ask for it. */

import { resolve } from 'node:path'
import type { DataFolderOptions } from '@watchglass/etcd-server'
import type { OptionValues } from '../../options/option-values.ts'
import { durabilityOption } from '../../options/process.ts'
import { checkRules, valueOf } from '../../options/rules.ts'

/** The folder that the options ask for; undefined for an etcd in memory. */
export function dataFolderOf(values: OptionValues): DataFolderOptions | undefined {
  const durability = valueOf(values, durabilityOption) ?? 'os'
  checkRules(values, [durabilityOption])
  const folder = values.text('data-dir')
  return folder === undefined ? undefined : { folder: resolve(folder), durability }
}
