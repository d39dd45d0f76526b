/** The rules of a definition when it is written: each must compile, give what it has to, and cost
 *  no more than a rule may; all of them together have a limit as well. */

import { isObject, type UntypedObject } from '@watchglass/base'
import type { JsonValue } from '@watchglass/go'
import { cardinalityMax, declaredBy, sizesIn, typeOfDeclared } from '@watchglass/cel'
import { type FieldError, forbidden, invalid } from '../../field-errors.ts'
import { tooLarge } from '../../refusals.ts'
import type { Place } from '../../validation/place.ts'
import { type CompiledRule, compileRule, type ValidationRule, rulesIn } from './rule.ts'

const ruleCostMax = 10_000_000
const totalCostMax = 100_000_000
/** Rules that take less of the total are not named. */
const namedCost = totalCostMax / 100
const namedMax = 4

/** Characters of all expressions of a definition: compiling a thousand takes a millisecond. */
const sourceMax = 300_000

/** The cost, the length and the errors of all rules of a schema. */
export class RuleTotals {
  readonly errors: FieldError[] = []
  #cost = 0
  #length = 0
  #expensive: { readonly path: string; readonly cost: number }[] = []

  add(path: string, cost: number): void {
    this.#cost += cost
    if (cost < namedCost) return
    this.#expensive.push({ path, cost })
    this.#expensive = this.#expensive.toSorted((a, b) => compareCosts(b.cost, a.cost))
    this.#expensive.length = Math.min(this.#expensive.length, namedMax)
  }

  /** Throws where compiling would take too long. */
  take(source: string): void {
    this.#length += source.length
    if (this.#length > sourceMax) throw tooLarge('the rules of the definition are too long')
  }

  /** The errors of the total, after all others. */
  finish(schema: Place): void {
    if (this.#cost <= totalCostMax) return
    for (const { path } of this.#expensive) {
      this.errors.push(
        forbidden(
          path,
          'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
        ),
      )
    }
    const name = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
    this.errors.push(forbidden(schema.path, tooExpensive(name, this.#cost, totalCostMax)))
  }
}

function compareCosts(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function tooExpensive(name: string, cost: number, max: number): string {
  const times = cost / max
  const factor = times > 100 ? 'more than 100' : times < 1.5 ? times.toFixed(6) : times.toFixed(1)
  return `${name} exceeds budget by factor of ${factor}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

/** The place of a schema among rules. */
export interface RuleScope {
  readonly totals: RuleTotals
  readonly schema: UntypedObject
  readonly isRoot: boolean
  /** The number of such values in an object; undefined: nothing bounds it. */
  readonly cardinality: number | undefined
  /** The outermost place below which values of before cannot be found. */
  readonly uncorrelated: string | undefined
}

export function rootScope(schema: unknown): RuleScope {
  return {
    totals: new RuleTotals(),
    schema: isObject(schema) ? schema : {},
    isRoot: true,
    cardinality: 1,
    uncorrelated: undefined,
  }
}

/** The scope of the items, of the values of a map, or of a property. */
export function innerScope(
  scope: RuleScope | undefined,
  schema: unknown,
  uncorrelated?: string,
): RuleScope | undefined {
  if (scope === undefined) return undefined
  const { cardinality } = scope
  const max = elementsMax(scope.schema)
  return {
    totals: scope.totals,
    schema: isObject(schema) ? schema : {},
    isRoot: false,
    cardinality: cardinality === undefined || max === undefined ? undefined : cardinality * max,
    uncorrelated: scope.uncorrelated ?? uncorrelated,
  }
}

function elementsMax(schema: UntypedObject): number | undefined {
  const bound = (value: unknown): number | undefined =>
    typeof value === 'number' ? Math.max(0, value) : undefined
  if (schema['type'] === 'array') return bound(schema['maxItems'])
  const isMap = schema['type'] === 'object' && (schema['additionalProperties'] ?? null) !== null
  return isMap ? bound(schema['maxProperties']) : 1
}

/** The checks of the rules of one schema, which has no other errors. */
export function checkRules(place: Place, scope: RuleScope): void {
  const { schema, totals } = scope
  const rules = rulesIn(schema)
  const path = `${place.path}.x-kubernetes-validations`
  const isResource = scope.isRoot || schema['x-kubernetes-embedded-resource'] === true
  const declared = declaredBy(schema, isResource)
  if (declared === undefined) {
    totals.errors.push({
      reason: 'InternalError',
      field: path,
      message:
        'Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
    })
    return
  }
  const self = typeOfDeclared(declared, 'selfType1')
  const sizes = sizesIn(declared)
  const times = scope.cardinality ?? cardinalityMax(declared)
  for (const [i, rule] of rules.entries()) {
    totals.take(rule.rule + rule.messageExpression)
    const compiled = compileRule(rule, self, schema)
    const at = `${path}[${i}]`
    const cost =
      compiled.program === undefined ? 0 : product(compiled.program.estimate(sizes).max, times)
    if (cost > ruleCostMax) {
      totals.errors.push(
        forbidden(`${at}.rule`, tooExpensive('estimated rule cost', cost, ruleCostMax)),
      )
    }
    totals.add(`${at}.rule`, cost)
    addProblems(totals, at, compiled)
    if (compiled.messageProgram !== undefined) {
      const { max } = compiled.messageProgram.estimate(sizes)
      if (max > ruleCostMax) {
        const detail = tooExpensive('estimated messageExpression cost', max, ruleCostMax)
        totals.errors.push(forbidden(`${at}.messageExpression`, detail))
      }
      totals.add(`${at}.messageExpression`, max)
    }
    addTransitionProblems(scope, at, compiled)
  }
}

function product(cost: number, times: number): number {
  return cost === 0 || times === 0 ? 0 : cost * times
}

function addProblems(totals: RuleTotals, at: string, { rule, ...compiled }: CompiledRule): void {
  if (compiled.problem !== undefined) {
    totals.errors.push(invalid(`${at}.rule`, shownRule(rule), compiled.problem))
  }
  if (compiled.messageProblem !== undefined) {
    totals.errors.push(invalid(`${at}.messageExpression`, shownRule(rule), compiled.messageProblem))
  }
}

function addTransitionProblems(
  { totals, uncorrelated }: RuleScope,
  at: string,
  { rule, usesOldSelf }: CompiledRule,
): void {
  if (usesOldSelf) {
    if (uncorrelated === undefined) return
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    totals.errors.push(invalid(`${at}.rule`, rule.rule, detail))
  } else if (rule.optionalOldSelf !== undefined) {
    const detail = 'may not be set if oldSelf is not used in rule'
    totals.errors.push(invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, detail))
  }
}

/** A rule as Go's struct. */
function shownRule(rule: ValidationRule): JsonValue {
  return new Map<string, JsonValue>([
    ['Rule', rule.rule],
    ['Message', rule.message],
    ['MessageExpression', rule.messageExpression],
    ['Reason', rule.reason ?? null],
    ['FieldPath', rule.fieldPath],
    ['OptionalOldSelf', rule.optionalOldSelf ?? null],
  ])
}
