/** The memory budget, read from the options. */

import { CacheError } from '@watchglass/base'
import type { OptionValues } from '../../options/option-values.ts'

const units: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** The bytes of `--memory-budget`; undefined if there is none. */
export function memoryBudgetOf(values: OptionValues): number | undefined {
  const text = values.text('memory-budget')
  if (text === undefined) return undefined
  const [, digits, unit = ''] = /^(\d+(?:\.\d+)?) ?([KMG]iB)$/.exec(text) ?? []
  const bytes = Number(digits) * (units[unit] ?? 0)
  if (bytes >= 1) return bytes
  throw new CacheError('invalid_request', `--memory-budget "${text}" is not a size such as 4GiB`)
}
