/** The admission plugins that are switched on or off, read from the options. */

import type { PluginChoice } from '@watchglass/writes'
import { load } from '../../compose/loaded-code.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules } from '../../options/rules.ts'
import { pluginOptions } from '../../options/writes.ts'

/** Undefined if nothing is said of them. */
export async function admissionOf(values: OptionValues): Promise<PluginChoice | undefined> {
  const [enabled, disabled] = pluginOptions.map(({ name }) => values.text(name))
  if (enabled === undefined && disabled === undefined) return undefined
  checkRules(values, pluginOptions)
  const { availablePlugins, pluginProblem } = await load.pluginNames()
  for (const [i, { name: option }] of pluginOptions.entries()) {
    for (const name of namesIn(values.text(option))) {
      const problem = pluginProblem(name, i === 0)
      if (problem === undefined) continue
      throw invalid(`--${option}: ${problem}; it takes ${availablePlugins.join(', ')}`)
    }
  }
  return { enabled: namesIn(enabled), disabled: namesIn(disabled) }
}

function namesIn(text = ''): string[] {
  return text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}
