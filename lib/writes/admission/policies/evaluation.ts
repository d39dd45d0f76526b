/** Evaluates a policy for one object and one parameter. All that it runs has one budget. */

import type { Steps } from '@watchglass/base'
import { goQuote, type JsonObject } from '@watchglass/go'
import {
  CelMap,
  AuthorizerCheck,
  type Decide,
  failure,
  freeValue,
  runWorkMax,
  type Value,
} from '@watchglass/cel'
import type {
  CompiledPolicy,
  PolicyExpression,
  Validation,
} from '../../validation/policy-expressions.ts'
import { aggregated } from '../refusals.ts'

const callCostMax = 1_000_000
const totalCostMax = 10_000_000
/** The budget of the conditions of one hook or mutating policy. */
export const conditionsCostMax: number = totalCostMax / 4
/** Work of all expressions: that of five runs which cost little and take long. */
const totalWorkMax = 5 * runWorkMax
const messageMax = 5 * 1024
/** As deep as an expression may nest: each takes a part of the stack. */
const depthMax = 250

/** The things that expressions see. */
export interface PolicyInput {
  readonly object: JsonObject | undefined
  readonly old: JsonObject | undefined
  readonly request: JsonObject
  readonly namespace: JsonObject | undefined
  readonly params: JsonObject | undefined
  readonly decide: Decide
  /** The resource of the request, for `authorizer.requestResource`. */
  readonly resource: AuthorizerCheck['question']
}

/** A refusal; without a reason it is that the object is invalid. */
export interface PolicyDenial {
  readonly message: string
  readonly reason: string
  /** The place of the validation; none of an annotation, which refuses whatever a binding says. */
  readonly index: number | undefined
}

export interface PolicyResult {
  readonly denials: readonly PolicyDenial[]
  /** Annotations for the audit log. */
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

/** The conditions have a budget of their own. */
export function* evaluatePolicy(
  policy: CompiledPolicy,
  input: PolicyInput,
  ignoresFailures: boolean,
): Steps<PolicyResult> {
  const isMeant = yield* meetsConditions(policy, input, conditionsCostMax)
  return yield* new Evaluation(policy, input, ignoresFailures).result(isMeant)
}

/** True if all conditions are met; a text is the problem of one that fails. */
export function meetsConditions(
  policy: CompiledPolicy,
  input: PolicyInput,
  costMax: number,
): Steps<boolean | string> {
  // They see no namespace.
  const evaluation = new Evaluation(policy, { ...input, namespace: undefined }, false)
  evaluation.left = costMax
  return evaluation.meetsConditions()
}

export type ExpressionAnswer =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly error: string }

/** Runs one mutation of a policy, with a budget of its own. */
export function runMutation(
  policy: CompiledPolicy,
  mutation: PolicyExpression,
  input: PolicyInput,
): ExpressionAnswer {
  return new Evaluation(policy, input, false).run(mutation)
}

function shownValue(object: JsonObject | undefined): Value {
  return object === undefined ? null : freeValue(object)
}

/** The place of the namespace among the values. */
const namespacePlace = 3

const common = new WeakMap<JsonObject, readonly Value[]>()

/** The values that all policies see of a request: made once for all that see the same objects. */
function commonValues({ object, old, request, decide, resource }: PolicyInput): readonly Value[] {
  let values = common.get(request)
  if (values === undefined) {
    values = [
      shownValue(object),
      shownValue(old),
      freeValue(request),
      null,
      new AuthorizerCheck('Authorizer', {}, decide),
      new AuthorizerCheck('ResourceCheck', resource, decide),
    ]
    common.set(request, values)
  }
  return values
}

class Evaluation {
  readonly #policy: CompiledPolicy
  readonly #inputs: (Value | undefined)[]
  readonly #ignoresFailures: boolean
  readonly #denials: PolicyDenial[] = []
  /** The cost that is left. */
  left = totalCostMax
  #workLeft = totalWorkMax
  /** Variables whose evaluation is under way, each within another one. */
  #depth = 0

  constructor(policy: CompiledPolicy, input: PolicyInput, ignoresFailures: boolean) {
    this.#policy = policy
    this.#ignoresFailures = ignoresFailures
    const { namespace, params } = input
    const inputs: (Value | undefined)[] = [...commonValues(input)]
    if (namespace !== undefined) inputs[namespacePlace] = freeValue(namespace)
    if (policy.hasParams) inputs.push(shownValue(params))
    if (policy.variables.length > 0) inputs.push(new Variables(name => this.#variable(name)))
    this.#inputs = inputs
  }

  /** @param isMeant what the conditions say; a text is why one of them fails */
  *result(isMeant: boolean | string): Steps<PolicyResult> {
    const nothing: PolicyResult = { denials: this.#denials, annotations: [] }
    if (typeof isMeant === 'string') this.#fail(isMeant, 0)
    if (isMeant !== true) return nothing
    for (const [index, validation] of this.#policy.validations.entries()) {
      this.#validate(validation, index)
      yield
    }
    const annotations: (readonly [string, string])[] = []
    for (const annotation of this.#policy.annotations) {
      const answer = this.run(annotation)
      if (answer.error !== undefined) this.#fail(answer.error, undefined)
      else if (typeof answer.value === 'string' && answer.value.trim() !== '') {
        annotations.push([annotation.name, answer.value.trim()])
      }
      yield
    }
    return { denials: this.#denials, annotations }
  }

  *meetsConditions(): Steps<boolean | string> {
    const problems: string[] = []
    for (const condition of this.#policy.conditions) {
      const answer = this.run(condition)
      if (answer.error !== undefined) problems.push(answer.error)
      else if (answer.value !== true) return false
      yield
    }
    return problems.length === 0 ? true : aggregated(problems)
  }

  #fail(message: string, index: number | undefined): void {
    if (!this.#ignoresFailures) this.#denials.push({ message, reason: '', index })
  }

  #validate(validation: Validation, index: number): void {
    const answer = this.run(validation)
    if (answer.error !== undefined) this.#fail(answer.error, index)
    else if (answer.value !== true) {
      const { reason } = validation
      this.#denials.push({ message: this.#message(validation), reason, index })
    }
  }

  #message({ source, message, messageExpression }: Validation): string {
    const plain = message.trim() === '' ? `failed expression: ${source.trim()}` : message.trim()
    if (messageExpression === undefined) return plain
    const answer = this.run(messageExpression)
    const { value } = answer.error === undefined ? answer : { value: '' }
    const text = typeof value === 'string' ? value.trim() : ''
    const isFine = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageMax
    return isFine ? text : plain
  }

  run({ source, program }: PolicyExpression): ExpressionAnswer {
    const failed = (error: string): ExpressionAnswer => ({
      error: `expression '${source}' resulted in error: ${error}`,
    })
    if (program === undefined) return failed('compilation error')
    const { value, error, cost, work } = program.run(this.#inputs, Math.min(callCostMax, this.left))
    this.left -= cost
    this.#workLeft -= work
    if (this.left < 0 || this.#workLeft < 0) {
      return {
        error:
          'validation failed due to running out of cost budget, no further validation rules will be run',
      }
    }
    return error === undefined ? { value } : failed(error)
  }

  /** The value of a variable of the policy. */
  #variable(name: string): Value {
    const variable = this.#policy.variables.findLast(one => one.name === name)
    const program = variable?.program
    if (program === undefined) throw failure(`no such key: ${name}`)
    if (this.#depth >= depthMax) throw failure(`variables name each other deeper than ${depthMax}`)
    this.#depth++
    const { value, error, cost } = program.run(this.#inputs, Math.min(callCostMax, this.left))
    this.#depth--
    this.left -= cost
    if (error === undefined) return value
    throw failure(`composited variable ${goQuote(name)} fails to evaluate: ${error}`)
  }
}

/** Variables are evaluated when they are named first. */
class Variables extends CelMap {
  readonly #evaluate: (name: string) => Value
  readonly #known = new Map<string, Value>()
  readonly #open = new Set<string>()

  constructor(evaluate: (name: string) => Value) {
    super()
    this.#evaluate = evaluate
  }

  get size(): number {
    return 0
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string' || this.#open.has(key)) return undefined
    let value = this.#known.get(key)
    if (value === undefined) {
      this.#open.add(key)
      try {
        value = this.#evaluate(key)
      } finally {
        this.#open.delete(key)
      }
      this.#known.set(key, value)
    }
    return value
  }

  keys(): readonly Value[] {
    return []
  }
}
