/** How much memory may be held, as the options say it. */

import { CacheError } from '../base/errors.ts'
import type { OptionValues } from './load.ts'
import type { Option } from './option.ts'

export const memoryOption: Option = {
  name: 'memory-budget',
  value: 'SIZE',
  help: 'What mirror, history and encoded objects may take together, such as 4GiB or 500MiB. Beyond it the encoded objects go first, then history, then the largest resources pass to the upstream; without one a start is refused.',
}

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
