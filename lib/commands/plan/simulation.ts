/** What is made up, read from the options. */

import { CacheError } from '../../base/errors.ts'
import { createRandom } from '../../base/random.ts'
import type { OptionValues } from '../../config/option-values.ts'
import { type ActorName, actorNames } from '../../cluster/actors/actor-names.ts'
import type { Simulation } from '../../cluster/actors/actors.ts'
import { seedOf } from '../generate.ts'

/** Undefined if nothing is. */
export function simulationOf(values: OptionValues, isWritable: boolean): Simulation | undefined {
  const text = values.text('simulate')
  if (text === undefined) return undefined
  const names = text.split(',').map(name => name.trim())
  const unknown = names.find(name => !isActor(name))
  if (unknown !== undefined) {
    throw invalid(
      `--simulate "${text}": "${unknown}" cannot be simulated; it takes ${actorNames.join(', ')}`,
    )
  }
  if (!isWritable) {
    throw invalid('--simulate needs a server that takes writes: add --writable, without --upstream')
  }
  return { actors: new Set(names.filter(isActor)), random: createRandom(seedOf(values)) }
}

function isActor(name: string): name is ActorName {
  return (actorNames as readonly string[]).includes(name)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
