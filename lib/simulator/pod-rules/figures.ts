/** Figures of simulated containers by kwok's expressions: CEL over `pod` and `container`, with the
 *  functions that kwok adds. It has no clock and draws nothing: the moment is given, and random
 *  numbers follow from the pod and the moment, so that all who ask at a time get one figure. */

import {
  type CelType,
  Double,
  Duration,
  dynType,
  Environment,
  standardMacros,
  Uint,
  type Value,
} from '@watchglass/cel'
import type { UsingContainer, UsingPod } from '../usage/usage.ts'
import { KwokFunctions, Quantity } from './functions.ts'
import { containerValue, podValue } from './subjects.ts'
import { RuleProblem } from './rule-problem.ts'

/** Cores, or bytes; undefined if the expression fails for this pod. */
export type Figure = (
  pod: UsingPod,
  container: UsingContainer,
  now: { readonly ms: number; readonly draw: () => number },
) => number | undefined

/** kwok's own example costs ten. It is run for each container of each pod that is looked at. */
const costMax = 10_000
const variables = new Map<string, CelType>([
  ['pod', dynType],
  ['container', dynType],
  // Known, to be refused in words.
  ['node', dynType],
])

const functions = new KwokFunctions()
let language: Environment | undefined

export function figureOf(source: string): Figure {
  language ??= new Environment({
    libraries: [functions.library],
    macros: standardMacros,
    isStrict: false,
  })
  const { expression, problems } = language.compile(source, variables)
  if (expression === undefined) {
    throw new RuleProblem(`expression ${JSON.stringify(source)}: ${problems}`)
  }
  if (expression.uses('node')) {
    throw new RuleProblem(
      `expression ${JSON.stringify(source)}: "node" is not known here, only "pod" and "container"`,
    )
  }
  if (!isFigure(expression.type)) {
    const type = expression.type.text
    throw new RuleProblem(
      `expression ${JSON.stringify(source)} gives a ${type}, and no number or Quantity`,
    )
  }
  return (pod, container, { ms, draw }) => {
    const inputs = [podValue(pod), containerValue(container)]
    const { value } = functions.at(ms, draw, () => expression.run(inputs, costMax))
    return value === undefined ? undefined : numberOf(value)
  }
}

function isFigure({ kind, name }: CelType): boolean {
  return (
    ['bool', 'double', 'duration', 'dyn', 'int', 'uint'].includes(kind) ||
    name === 'kubernetes.Quantity'
  )
}

/** As kwok reads a number out of a value. */
function numberOf(value: Value): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Double) return value.value
  if (value instanceof Uint) return Number(value.value)
  if (value instanceof Duration) return Number(value.nanos)
  if (value instanceof Quantity) return Number(value.nanos) / 1e9
  return undefined
}
