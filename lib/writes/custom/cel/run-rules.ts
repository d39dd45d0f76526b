/** Runs the rules of a definition on an object that is written. What all of them may cost is
 *  bounded, as kube-apiserver bounds it. */

import { atOnce, isObject, isStepDue, type Steps } from '@watchglass/base'
import { type JsonValue, textFromTree } from '@watchglass/go'
import {
  CelError,
  declaredBy,
  isEmbedded,
  none,
  Optional,
  type EvaluationOutcome,
  runWorkMax,
  type DataShape,
  shapeOf,
  typeOfDeclared,
  type Value,
  valueOf,
} from '@watchglass/cel'
import { duplicate, type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { errorsMaxLength, tooLarge } from '../../refusals.ts'
import type { Correlated } from '../schema-check.ts'
import { type CompiledRule, compileRule, type ValidationRule, rulesIn } from './rule.ts'

const callCostMax = 1_000_000
const objectCostMax = 10_000_000
/** Work of all rules of an object: that of five runs which cost little and take long. */
const objectWorkMax = 5 * runWorkMax
/** A rule that took so much is a step of its own: 15 ms. */
const stepWork = 100_000
/** Work of a run that costs nothing, as that of the rule "false" does: each item of a list may have
 *  a run of each of ten thousand rules. */
const runWork = 1
const messageMax = 5 * 1024
/** Characters of a text that is made of a value, in the time of one unit of work. */
const charactersOfWork = 8

/** The rules of a schema and of what lies in it. */
export class RuleNode {
  readonly #schema: unknown
  readonly #rulesOf: unknown
  readonly #isRoot: boolean
  readonly items: RuleNode | undefined
  readonly additional: RuleNode | undefined
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly allOf: readonly RuleNode[]
  #compiled: readonly CompiledRule[] | undefined
  #shape: DataShape | undefined

  private constructor(schema: unknown, rulesOf: unknown, isRoot: boolean, inner: Inner) {
    this.#schema = schema
    this.#rulesOf = rulesOf
    this.#isRoot = isRoot
    this.items = inner.items
    this.additional = inner.additional
    this.properties = inner.properties
    this.allOf = inner.allOf
  }

  /** The node of a schema; undefined if there is no rule in it. */
  static of(schema: unknown, isRoot = true): RuleNode | undefined {
    return make(schema, schema, isRoot)
  }

  /** Made of the parts that were found to have rules. */
  static with(schema: unknown, rulesOf: unknown, isRoot: boolean, inner: Inner): RuleNode {
    return new RuleNode(schema, rulesOf, isRoot, inner)
  }

  get type(): string {
    const type = isObject(this.#schema) ? this.#schema['type'] : ''
    return typeof type === 'string' ? type : ''
  }

  /** The rules of this node, compiled when they are needed first. */
  get rules(): readonly CompiledRule[] {
    if (this.#compiled === undefined) {
      const rules = rulesIn(this.#rulesOf)
      const declared = rules.length === 0 ? undefined : declaredBy(this.#schema, this.#isRoot)
      const self = declared === undefined ? undefined : typeOfDeclared(declared, 'selfType1')
      this.#compiled =
        self === undefined ? [] : rules.map(rule => compileRule(rule, self, this.#schema))
    }
    return this.#compiled
  }

  get shape(): DataShape {
    this.#shape ??= shapeOf(this.#schema, this.#isRoot)
    return this.#shape
  }
}

interface Inner {
  readonly items: RuleNode | undefined
  readonly additional: RuleNode | undefined
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly allOf: readonly RuleNode[]
}

function make(rulesOf: unknown, schema: unknown, isRoot: boolean): RuleNode | undefined {
  if (!isObject(rulesOf) || !isObject(schema)) return undefined
  const inside = (rules: unknown, of: unknown): RuleNode | undefined =>
    make(rules, of, isEmbedded(of))
  const properties = new Map<string, RuleNode>()
  const [named, described] = [rulesOf['properties'], schema['properties']]
  if (isObject(named) && isObject(described)) {
    for (const [name, property] of Object.entries(named)) {
      const node = Object.hasOwn(described, name) ? inside(property, described[name]) : undefined
      if (node !== undefined) properties.set(name, node)
    }
  }
  const { allOf } = rulesOf
  const inner: Inner = {
    items: inside(rulesOf['items'], schema['items']),
    additional: inside(rulesOf['additionalProperties'], schema['additionalProperties']),
    properties,
    allOf: Array.isArray(allOf)
      ? allOf.flatMap((one: unknown) => make(one, schema, isRoot) ?? [])
      : [],
  }
  const isEmpty =
    inner.items === undefined &&
    inner.additional === undefined &&
    properties.size === 0 &&
    inner.allOf.length === 0 &&
    rulesIn(rulesOf).length === 0
  return isEmpty ? undefined : RuleNode.with(schema, rulesOf, isRoot, inner)
}

/** Errors of rules, and warnings about what was broken before. */
export interface RuleResult {
  readonly errors: FieldError[]
  readonly warnings: string[]
}

/** Runs all rules below a node. */
export function* runRules(
  node: RuleNode,
  object: JsonValue,
  correlated: Correlated | undefined,
): Steps<RuleResult> {
  const run = new RuleRun()
  yield* run.validate(node, object, {
    path: '',
    old: correlated,
    ratchet: { now: object, correlated },
  })
  return { errors: run.errors, warnings: run.warnings }
}

/** The values of now and before: what has not changed may break a rule. */
interface Ratchet {
  readonly now: JsonValue
  readonly correlated: Correlated | undefined
  readonly parent?: Ratchet
  /** Whether it is, once that was asked: every item of a list may ask it of the list. */
  isUnchanged?: boolean
}

interface At {
  readonly path: string
  readonly old: Correlated | undefined
  readonly ratchet: Ratchet | undefined
}

/** The comparison of a member or an item. */
function inside(
  ratchet: Ratchet | undefined,
  now: JsonValue,
  correlated: (of: Correlated) => Correlated | undefined,
): Ratchet | undefined {
  if (ratchet?.correlated === undefined) return ratchet
  return { now, correlated: correlated(ratchet.correlated), parent: ratchet }
}

/** Runs of rules that have one budget together. */
export class RuleRun {
  #budget = objectCostMax
  #workLeft = objectWorkMax
  #charactersLeft = errorsMaxLength
  readonly errors: FieldError[] = []
  readonly warnings: string[] = []

  /** Runs the rules on a value that stands at a path of something else. What has not changed may
   *  break no rule there. */
  errorsAt(
    path: string,
    node: RuleNode,
    value: JsonValue,
    old: Correlated | undefined,
  ): FieldError[] {
    const before = this.errors.length
    atOnce(this.validate(node, value, { path, old, ratchet: undefined }))
    return this.errors.slice(before)
  }

  get isOver(): boolean {
    return this.#budget < 0
  }

  /** Returns false when nothing may run any more. */
  *validate(node: RuleNode, value: JsonValue, at: At): Steps<boolean> {
    if (value === null) return true
    if (isStepDue()) yield
    if (!(yield* this.#runAll(node, value, at))) return false
    for (const one of node.allOf) {
      const parent = at.ratchet?.parent
      if (!(yield* this.validate(one, value, { ...at, ratchet: parent }))) return false
    }
    if (Array.isArray(value)) return yield* this.#items(node, value, at)
    return value instanceof Map ? yield* this.#members(node, value, at) : true
  }

  *#items(node: RuleNode, list: readonly JsonValue[], at: At): Steps<boolean> {
    if (node.items === undefined) return true
    for (const [i, item] of list.entries()) {
      const inner: At = {
        path: `${at.path}[${i}]`,
        old: at.old?.item(i),
        ratchet: inside(at.ratchet, item, of => of.item(i)),
      }
      if (!(yield* this.validate(node.items, item, inner))) return false
    }
    return true
  }

  *#members(node: RuleNode, map: ReadonlyMap<string, JsonValue>, at: At): Steps<boolean> {
    for (const [name, value] of map) {
      const property = node.properties.get(name)
      const inner = property ?? node.additional
      if (inner === undefined) continue
      const isTypeMeta = at.path === '' && (name === 'apiVersion' || name === 'kind')
      const dotted = at.path === '' ? name : `${at.path}.${name}`
      const next: At = {
        path: property === undefined ? `${at.path}[${name}]` : dotted,
        old: at.old?.member(name),
        ratchet: isTypeMeta ? undefined : inside(at.ratchet, value, of => of.member(name)),
      }
      if (!(yield* this.validate(inner, value, next))) return false
    }
    return true
  }

  *#runAll(node: RuleNode, value: JsonValue, at: At): Steps<boolean> {
    const { rules } = node
    if (rules.length === 0) return true
    const old = at.old?.old ?? undefined
    const self = read(value, node.shape)
    const oldSelf = old === undefined || old === null ? undefined : read(old, node.shape)
    for (const compiled of rules) {
      const before = this.#workLeft
      if (!this.#runOne(node, compiled, { value, self, oldSelf, at })) return false
      if (before - this.#workLeft > stepWork) yield
    }
    return true
  }

  #runOne(node: RuleNode, compiled: CompiledRule, given: Given): boolean {
    const { rule, program, usesOldSelf } = compiled
    const { at, self, oldSelf, value } = given
    const isOptional = rule.optionalOldSelf === true
    if (program === undefined) {
      if (compiled.problem !== undefined) {
        this.#push(at.path, node, `rule compile error: ${compiled.problem}`)
      }
      return true
    }
    if (usesOldSelf && oldSelf === undefined && !isOptional) return true
    const before = isOptional ? optional(oldSelf) : oldSelf
    const outcome = evaluate(self, before, inputs => program.run(inputs, callCostMax))
    if (!this.#mayTake(outcome)) {
      this.#push(at.path, node, outOfBudget)
      return false
    }
    if (outcome.error !== undefined) return this.#failed(node, rule, outcome.error, at.path)
    if (outcome.value === true) return true
    const path = compiled.path === '' ? at.path : joined(at.path, compiled.path)
    const message = this.#message(compiled, self, oldSelf)
    if (message === undefined) {
      this.#push(path, node, `messageExpression evaluation failed ${outOfBudgetOf}`)
      return false
    }
    const error = errorOf(rule, { path, node, value, message })
    this.#count(error)
    if (!usesOldSelf && this.#isUnchanged(at.ratchet)) {
      this.warnings.push(`${error.field}: ${error.message}`)
    } else this.errors.push(error)
    return true
  }

  #isUnchanged(ratchet: Ratchet | undefined): boolean {
    if (ratchet === undefined) return false
    const { now, correlated, parent } = ratchet
    if (correlated === undefined) {
      return parent?.correlated !== undefined && this.#isUnchanged(parent)
    }
    if (ratchet.isUnchanged !== undefined) return ratchet.isUnchanged
    const text = textFromTree(now)
    // Values lie in each other, and each may be compared.
    this.#workLeft -= text.length / charactersOfWork
    ratchet.isUnchanged = text === textFromTree(correlated.old)
    return ratchet.isUnchanged
  }

  #count({ field, message }: FieldError): void {
    this.#charactersLeft -= field.length + message.length
    if (this.#charactersLeft < 0) throw tooLarge('the errors of the object are too long')
  }

  /** An error of the rule itself. Returns false where no more rules may run. */
  #failed(node: RuleNode, rule: ValidationRule, problem: string, path: string): boolean {
    const shown = rule.message === '' ? rule.rule.trim() : rule.message.trim()
    if (problem.startsWith('no such overload')) {
      this.#push(
        path,
        node,
        `'${problem}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`,
      )
      return true
    }
    if (problem.startsWith('operation cancelled: actual cost limit exceeded')) {
      this.#push(
        path,
        node,
        `'${problem}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`,
      )
      return false
    }
    this.#push(path, node, `${problem} evaluating rule: ${shown}`)
    return true
  }

  /** Takes what a run has cost; returns false where that is more than is left. */
  #mayTake({ cost, work }: EvaluationOutcome): boolean {
    const taken = work + runWork
    if (cost > this.#budget || taken > this.#workLeft) return false
    this.#budget -= cost
    this.#workLeft -= taken
    return true
  }

  #push(path: string, node: RuleNode, detail: string): void {
    const error = invalid(path, node.type, detail)
    this.#count(error)
    this.errors.push(error)
  }

  /** The message of a broken rule; undefined where its expression costs too much. */
  #message(
    { rule, messageProgram }: CompiledRule,
    self: Given['self'],
    oldSelf: Given['self'] | undefined,
  ): string | undefined {
    const plain = rule.message === '' ? `failed rule: ${rule.rule.trim()}` : rule.message.trim()
    if (messageProgram === undefined) return plain
    const outcome = evaluate(self, oldSelf, inputs => messageProgram.run(inputs, callCostMax))
    if (outcome.cost > callCostMax || !this.#mayTake(outcome)) return undefined
    if (outcome.error !== undefined || typeof outcome.value !== 'string') return plain
    const text = outcome.value.trim()
    const isFine = text !== '' && !text.includes('\n') && Buffer.byteLength(text) <= messageMax
    return isFine ? text : plain
  }
}

const outOfBudgetOf = 'due to running out of cost budget, no further validation rules will be run'
const outOfBudget = `validation failed ${outOfBudgetOf}`

interface Given {
  readonly value: JsonValue
  readonly self: Value | CelError
  readonly oldSelf: Value | CelError | undefined
  readonly at: At
}

/** A value that does not fit its schema is an error of every rule that names it. */
function read(json: JsonValue, shape: DataShape): Value | CelError {
  try {
    return valueOf(json, shape)
  } catch (error) {
    if (error instanceof CelError) return error
    throw error
  }
}

function optional(value: Value | CelError | undefined): Value | CelError {
  if (value === undefined) return none
  return value instanceof CelError ? value : new Optional(value)
}

function evaluate(
  self: Value | CelError,
  oldSelf: Value | CelError | undefined,
  run: (inputs: readonly (Value | undefined)[]) => EvaluationOutcome,
): EvaluationOutcome {
  if (self instanceof CelError) return { error: self.message, cost: 1, work: 1 }
  if (oldSelf instanceof CelError) return { error: oldSelf.message, cost: 1, work: 1 }
  return run([self, oldSelf])
}

function joined(path: string, inner: string): string {
  return path === '' ? inner : `${path}.${inner}`
}

function errorOf(
  rule: ValidationRule,
  given: {
    readonly path: string
    readonly node: RuleNode
    readonly value: JsonValue
    readonly message: string
  },
): FieldError {
  const { path, node, value, message } = given
  const shown = node.type === 'object' || node.type === 'array' ? undefined : value
  if (rule.reason === 'FieldValueForbidden') return forbidden(path, message)
  if (rule.reason === 'FieldValueRequired') return required(path, message)
  if (rule.reason === 'FieldValueDuplicate') return duplicate(path, shown)
  return invalid(path, shown, message)
}
