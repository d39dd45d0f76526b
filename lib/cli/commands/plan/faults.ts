/** The faults that `--fault` and `--fault-seed` ask for. */

import { CacheError } from '@watchglass/base'
import type { FaultsOptions } from '@watchglass/simulator'
import type { OptionValues } from '../../options/option-values.ts'
import { wings } from '../../compose/sides.ts'

/** The faults to begin with; undefined with an upstream, whose clients are to meet none. */
export async function faultsOf(values: OptionValues): Promise<FaultsOptions | undefined> {
  const rules = values.all('fault')
  if (rules.length > 0) {
    const { parseFaultRule } = await wings.faultRules()
    for (const rule of rules) parseFaultRule(rule)
  }
  const seed = values.text('fault-seed') ?? ''
  if (!/^\d{1,15}$/.test(seed)) {
    throw new CacheError('invalid_request', `--fault-seed "${seed}" is not a whole number`)
  }
  if (values.all('upstream').length === 0) return { rules, seed: Number(seed) }
  if (rules.length === 0) return undefined
  throw new CacheError(
    'invalid_request',
    '--fault is for a server without an upstream: leave out --fault or --upstream',
  )
}
