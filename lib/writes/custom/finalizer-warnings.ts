/** Warnings about finalizers of custom resources: bad names are not refused. */

import { goQuote, type JsonObject } from '@watchglass/go'
import { finalizersOf } from '../metadata.ts'
import { qualifiedName } from '../validation/formats.ts'

const ownFinalizers = ['orphan', 'foregroundDeletion', 'kubernetes']

/** Warns of finalizers that were not there before, in the order of their names. */
export function finalizerWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const known = new Set(old === undefined ? [] : finalizersOf(old))
  const added = new Set(finalizersOf(object).filter(name => !known.has(name)))
  return [...added].sort().flatMap(warningsOf)
}

function warningsOf(name: string): string[] {
  const say = (detail: string): string => `metadata.finalizers: ${goQuote(name)}: ${detail}`
  const warnings = qualifiedName(name).map(say)
  if (name.includes('/') || ownFinalizers.includes(name)) return warnings
  const path = name.includes('.') ? ' including a path (/)' : ''
  warnings.push(
    say(
      `prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
    ),
  )
  return warnings
}
