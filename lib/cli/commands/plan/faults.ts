/** The faults that `--fault` and `--fault-seed` ask for. */

import type { FaultRulesOptions } from '@watchglass/simulator'
import type { OptionValues } from '../../options/option-values.ts'
import { faultOption, faultSeedOption } from '../../options/process.ts'
import { checkRules, valueOf } from '../../options/rules.ts'
import { load } from '../../compose/loaded-code.ts'

/** The faults to begin with; undefined with an upstream, whose clients are to meet none. */
export async function faultsOf(values: OptionValues): Promise<FaultRulesOptions | undefined> {
  const rules = values.all('fault')
  if (rules.length > 0) {
    const { parseFaultRule } = await load.faultRules()
    for (const rule of rules) parseFaultRule(rule)
  }
  const seed = valueOf(values, faultSeedOption)
  checkRules(values, [faultOption])
  return values.all('upstream').length === 0 ? { rules, seed } : undefined
}
