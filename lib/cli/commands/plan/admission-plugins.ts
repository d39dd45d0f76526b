/** The admission plugins that are switched on or off, read from the options. */

import { CacheError } from '@watchglass/base'
import type { PluginChoice } from '@watchglass/writes'
import { wings } from '../../compose/sides.ts'
import type { OptionValues } from '../../options/option-values.ts'

/** Undefined if nothing is said of them. */
export async function admissionOf(
  values: OptionValues,
  isWritable: boolean,
): Promise<PluginChoice | undefined> {
  const [enabled, disabled] = ['enable-admission-plugins', 'disable-admission-plugins'].map(
    option => ({ option, text: values.text(option) }),
  )
  if (enabled?.text === undefined && disabled?.text === undefined) return undefined
  const { availablePlugins, pluginProblem } = await wings.pluginNames()
  for (const one of [enabled, disabled]) {
    if (one?.text === undefined) continue
    if (!isWritable) {
      throw invalid(
        `--${one.option} needs a server that takes writes: add --writable, without --upstream`,
      )
    }
    for (const name of namesIn(one.text)) {
      const problem = pluginProblem(name, one === enabled)
      if (problem === undefined) continue
      throw invalid(`--${one.option}: ${problem}; it takes ${availablePlugins.join(', ')}`)
    }
  }
  return { enabled: namesIn(enabled?.text), disabled: namesIn(disabled?.text) }
}

function namesIn(text = ''): string[] {
  return text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
