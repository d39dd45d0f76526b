/** How many threads serve, read from the options. */

import { CacheError } from '../base/errors.ts'
import type { OptionValues } from './option-values.ts'
import type { Option } from './option.ts'

const most = 8

export const threadsOption: Option = {
  name: 'threads',
  value: 'N|auto',
  fallback: '1',
  help: 'How many threads serve clients, 1 to 64. With 1 the main thread does; with more it keeps the mirror of etcd and serves nobody. auto: one for each core but one, at most 8; 1 on machines with up to two cores and with --upstream.',
}

/** The number of `--threads` on a machine with so many cores. */
export function threadsOf(values: OptionValues, cores: number): number {
  const text = values.text('threads') ?? '1'
  if (text === 'auto') {
    // Each thread would compare the upstream's answers for itself.
    const isOne = cores <= 2 || values.text('upstream') !== undefined
    return isOne ? 1 : Math.min(cores - 1, most)
  }
  const count = Number(text)
  if (!/^\d{1,2}$/.test(text) || count < 1 || count > 64) {
    throw invalid(`--threads "${text}" is not auto or a number of threads from 1 to 64`)
  }
  return count
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
