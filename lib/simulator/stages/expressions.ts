/** The expressions of stages, in jq or in CEL, over an object as the API shows it. */

import { parseTree } from '@watchglass/go'
import { Jq } from '../jq/jq.ts'
import type { JqValue } from '../jq/values.ts'
import { Double, Duration, dynType, freeValue, Timestamp, type Value } from '@watchglass/cel'
import { ruleLanguage } from '@watchglass/writes'
import { StageProblem } from './stage-problem.ts'

/** An object, and its forms for each language, made when they are needed first. */
export class StageSubject {
  readonly object: JqValue
  #celValue: Value | undefined

  constructor(object: JqValue) {
    this.object = object
  }

  get celValue(): Value {
    this.#celValue ??= freeValue(treeOf(this.object))
    return this.#celValue
  }
}

function treeOf(object: JqValue): Parameters<typeof freeValue>[0] {
  const bytes = Buffer.from(JSON.stringify(object))
  return parseTree(bytes, 0, bytes.length) ?? null
}

/** The values of an expression for an object; undefined if it fails. */
export type StageQuery = (subject: StageSubject) => readonly unknown[] | undefined

export function jqQuery(source: string): StageQuery {
  const jq = new Jq(source)
  return ({ object }) => jq.valuesOf(object)
}

const celCostMax = 1_000_000
const variables = new Map([['self', dynType]])

export function celQuery(source: string): StageQuery {
  const { expression, problems } = ruleLanguage().compile(source, variables)
  if (expression === undefined) {
    throw new StageProblem(`CEL expression ${JSON.stringify(source)}: ${problems}`)
  }
  return ({ celValue }) => {
    const { value, error } = expression.run([celValue], celCostMax)
    return error === undefined ? [plainOf(value)] : undefined
  }
}

/** A value as jq would give it: times and durations as texts. */
function plainOf(value: Value): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Double) return value.value
  if (value instanceof Duration) return `${String(value.nanos)}ns`
  if (value instanceof Timestamp) {
    return new Date(value.seconds * 1000 + value.nanos / 1e6).toISOString()
  }
  return value
}
