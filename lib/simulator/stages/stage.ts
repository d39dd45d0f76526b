/** A lifecycle that a user has declared, a step of it each: kwok's `Stage`. It says which objects
 *  it is for, how likely it is among others, how long it waits, and what it then does. */

import { parseDuration } from '@watchglass/cel'
import {
  isObject,
  listOf,
  memberAt,
  objectOf,
  textOf,
  textsOf,
  type UntypedObject,
} from '@watchglass/base'
import { JqProblem } from '../jq/problem.ts'
import { TemplateProblem } from '../templates/problem.ts'
import { celQuery, jqQuery, type StageQuery, type StageSubject } from './expressions.ts'
import { StageProblem } from './stage-problem.ts'
import { type StageStep, stepsOf } from './steps.ts'

export const stageApiVersion = 'kwok.x-k8s.io/v1alpha1'

export interface LifecycleStage {
  readonly name: string
  /** The kind of the objects that it is for. */
  readonly apiVersion: string
  readonly kind: string
  readonly matches: (subject: StageSubject) => boolean
  /** Undefined: none can be told. */
  readonly weight: (subject: StageSubject) => number | undefined
  /** @param share a number from 0 up to 1 that is drawn */
  readonly delayMs: (subject: StageSubject, nowMs: number, share: number) => number
  readonly steps: readonly StageStep[]
}

/** The stage that an object declares; undefined if it has no selector, and so is for nothing.
 *  Throws `StageProblem`. */
export function stageOf(object: unknown): LifecycleStage | undefined {
  const name = textOf(memberAt(object, ['metadata', 'name']))
  try {
    return read(name, objectOf(memberAt(object, ['spec'])))
  } catch (error) {
    const isKnown =
      error instanceof StageProblem ||
      error instanceof JqProblem ||
      error instanceof TemplateProblem
    if (!isKnown) throw error
    throw new StageProblem(`Stage ${name}: ${error.message}`, { cause: error })
  }
}

function read(name: string, spec: UntypedObject): LifecycleStage | undefined {
  const { apiGroup, kind } = objectOf(spec['resourceRef'])
  if (textOf(kind) === '') throw new StageProblem('spec.resourceRef.kind names no kind')
  const { selector, delay } = spec
  if (selector === undefined || selector === null) return undefined
  return {
    name,
    apiVersion: textOf(apiGroup) === '' ? 'v1' : textOf(apiGroup),
    kind: textOf(kind),
    matches: matcherOf(objectOf(selector)),
    weight: weightOf(spec),
    delayMs: isObject(delay) ? delayOf(delay) : () => 0,
    steps: stepsOf(spec),
  }
}

function matcherOf(selector: UntypedObject): LifecycleStage['matches'] {
  const tests = [
    ...equalities(selector['matchLabels'], 'labels'),
    ...equalities(selector['matchAnnotations'], 'annotations'),
    ...listOf(selector['matchExpressions']).map(requirement),
  ]
  return subject => tests.every(test => test(subject))
}

function equalities(wanted: unknown, member: string): LifecycleStage['matches'][] {
  return Object.entries(objectOf(wanted)).map(
    ([key, value]) =>
      ({ object }) =>
        objectOf(memberAt(object, ['metadata', member]))[key] === value,
  )
}

function requirement(raw: unknown): LifecycleStage['matches'] {
  const { key, operator, values, jq, cel } = objectOf(raw)
  if (isObject(cel)) {
    const query = celQuery(textOf(cel['expression']))
    return subject => query(subject)?.[0] === true
  }
  const given = isObject(jq) ? jq : { key, operator, values }
  const query = jqQuery(textOf(given['key']))
  const wanted = textsOf(given['values'])
  const test = operatorOf(textOf(given['operator']), wanted)
  return subject => test(query(subject) ?? [])
}

function operatorOf(
  operator: string,
  wanted: readonly string[],
): (found: readonly unknown[]) => boolean {
  const has = (found: readonly unknown[]): boolean => found.some(one => isOneOf(one, wanted))
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (wanted.length === 0) throw new StageProblem(`${operator} needs values`)
      return operator === 'In' ? has : found => !has(found)
    case 'Exists':
    case 'DoesNotExist':
      if (wanted.length > 0) throw new StageProblem(`${operator} takes no values`)
      return found => found.length > 0 === (operator === 'Exists')
    default:
      throw new StageProblem(`the operator ${JSON.stringify(operator)} is not known`)
  }
}

/** Numbers are compared where they are whole, as in kwok. */
function isOneOf(value: unknown, wanted: readonly string[]): boolean {
  if (typeof value === 'string' || typeof value === 'boolean') return wanted.includes(String(value))
  return typeof value === 'number' && Number.isInteger(value) && wanted.includes(String(value))
}

function queryOf(from: unknown): StageQuery | undefined {
  const { expressionFrom, jq, cel } = objectOf(from)
  if (isObject(cel)) return celQuery(textOf(cel['expression']))
  const source = isObject(jq) ? textOf(jq['expression']) : textOf(expressionFrom)
  return source === '' ? undefined : jqQuery(source)
}

function weightOf(spec: UntypedObject): LifecycleStage['weight'] {
  const weight = typeof spec['weight'] === 'number' ? spec['weight'] : 0
  const query = queryOf(spec['weightFrom'])
  if (query === undefined) return () => weight
  return subject => {
    const value = query(subject)?.[0]
    if (typeof value === 'number') return Math.trunc(value)
    if (typeof value !== 'string') return weight
    return /^[+-]?\d+$/.test(value) ? Number(value) : undefined
  }
}

/** A duration in milliseconds; undefined if there is none. */
type Length = (subject: StageSubject, nowMs: number) => number | undefined

function delayOf(delay: UntypedObject): LifecycleStage['delayMs'] {
  const least = lengthOf(numberAt(delay, 'durationMilliseconds') ?? 0, delay['durationFrom'])
  const jitterMs = numberAt(delay, 'jitterDurationMilliseconds')
  const most = lengthOf(jitterMs, delay['jitterDurationFrom'])
  return (subject, nowMs, share) => {
    const fromMs = least(subject, nowMs)
    if (fromMs === undefined) return 0
    const toMs = most(subject, nowMs) ?? fromMs
    // The shorter one, if they are the wrong way round.
    return Math.max(0, toMs <= fromMs ? toMs : fromMs + share * (toMs - fromMs))
  }
}

function numberAt(of: UntypedObject, member: string): number | undefined {
  const value = of[member]
  return typeof value === 'number' ? value : undefined
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

function lengthOf(otherwise: number | undefined, from: unknown): Length {
  const query = queryOf(from)
  if (query === undefined) return () => otherwise
  return (subject, nowMs) => {
    const value = query(subject)?.[0]
    if (typeof value !== 'string') return otherwise
    if (value === '') return undefined
    if (time.test(value)) return Date.parse(value) - nowMs
    const nanos = parseDuration(value)
    return nanos === undefined ? otherwise : Number(nanos) / 1e6
  }
}
