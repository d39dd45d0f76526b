/** The made-up data and actors, read from the options. */

import { CacheError } from '../../base/errors.ts'
import { createRandom } from '../../base/random.ts'
import type { OptionValues } from '../../config/option-values.ts'
import type { Simulation } from '../../cluster/actors/actors.ts'
import { wings } from '../../compose/sides.ts'
import { seedOf } from '../../config/generated.ts'

/** Undefined if nothing is. */
export async function simulationOf(
  values: OptionValues,
  isWritable: boolean,
): Promise<Simulation | undefined> {
  const text = values.text('simulate')
  if (text === undefined) return undefined
  const { actorNames } = await wings.actorNames()
  const names = text.split(',').map(name => name.trim())
  const actors = actorNames.filter(name => names.includes('all') || names.includes(name))
  const known = ['all', ...actorNames] as readonly string[]
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw invalid(
      `--simulate "${text}": "${unknown}" cannot be simulated; it takes ${known.join(', ')}`,
    )
  }
  if (!isWritable) {
    throw invalid('--simulate needs a server that takes writes: add --writable, without --upstream')
  }
  return { actors: new Set(actors), random: createRandom(seedOf(values)) }
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
