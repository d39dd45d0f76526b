/** The generated data and simulated controllers, read from the options. */

import { createRandom } from '@watchglass/base'
import {
  type ControllerName,
  controllerNames,
} from '@watchglass/simulator/simulation/controller-names'
import type { OptionValues } from '../../options/option-values.ts'
import type { Simulation } from '@watchglass/simulator'
import { declaredIn } from './stages.ts'
import { seedOption } from '../../options/cluster.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules, valueOf } from '../../options/rules.ts'
import { countRequestsOption, simulationOptions } from '../../options/writes.ts'

/** Undefined if nothing is. */
export async function simulationOf(values: OptionValues): Promise<Simulation | undefined> {
  checkRules(values, simulationOptions)
  const text = values.text('simulate')
  const paths = values.all('stages')
  if (text === undefined && paths.length === 0) return undefined
  const controllers = controllersNamed(text)
  const declared = await declaredIn(paths)
  if (declared.podRules !== undefined && !controllers.has('nodes')) {
    throw invalid(
      '--stages has rules for logs, exec or figures, which pods of simulated nodes have: add --simulate nodes',
    )
  }
  const countsRequests = values.switch(countRequestsOption.name)
  const random = createRandom(valueOf(values, seedOption))
  return { controllers, random, countsRequests, ...declared }
}

function controllersNamed(text: string | undefined): ReadonlySet<ControllerName> {
  if (text === undefined) return new Set()
  const names = text.split(',').map(name => name.trim())
  const known = ['all', ...controllerNames] as readonly string[]
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw invalid(
      `--simulate "${text}": "${unknown}" cannot be simulated; it takes ${known.join(', ')}`,
    )
  }
  return new Set(controllerNames.filter(name => names.includes('all') || names.includes(name)))
}
