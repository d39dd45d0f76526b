/** One of the x-kubernetes-validations of a schema, compiled. */

import { isObject } from '@watchglass/base'
import { type CelType, type CompiledExpression, optionalOf } from '@watchglass/cel'
import { ruleLanguage } from './language.ts'
import { fieldPath } from './field-path.ts'

export interface ValidationRule {
  readonly rule: string
  readonly message: string
  readonly messageExpression: string
  readonly reason: string | undefined
  readonly fieldPath: string
  readonly optionalOldSelf: boolean | undefined
}

/** The rules of a schema. */
export function rulesIn(schema: unknown): readonly ValidationRule[] {
  const list = isObject(schema) ? schema['x-kubernetes-validations'] : undefined
  if (!Array.isArray(list)) return []
  return list.map(ruleFrom)
}

function ruleFrom(raw: unknown): ValidationRule {
  const given = isObject(raw) ? raw : {}
  const text = (name: string): string => {
    const value = given[name]
    return typeof value === 'string' ? value : ''
  }
  const { reason, optionalOldSelf } = given
  return {
    rule: text('rule'),
    message: text('message'),
    messageExpression: text('messageExpression'),
    reason: typeof reason === 'string' ? reason : undefined,
    fieldPath: text('fieldPath'),
    optionalOldSelf: typeof optionalOldSelf === 'boolean' ? optionalOldSelf : undefined,
  }
}

export interface CompiledRule {
  readonly rule: ValidationRule
  /** The problem of the rule. */
  readonly problem: string | undefined
  readonly program: CompiledExpression | undefined
  readonly messageProblem: string | undefined
  readonly messageProgram: CompiledExpression | undefined
  readonly usesOldSelf: boolean
  /** The path of errors below the value, such as `spec.x`. */
  readonly path: string
}

/** Compiles the rule of a value of a type. */
export function compileRule(rule: ValidationRule, self: CelType, schema: unknown): CompiledRule {
  const nothing: CompiledRule = {
    rule,
    problem: undefined,
    program: undefined,
    messageProblem: undefined,
    messageProgram: undefined,
    usesOldSelf: false,
    path: '',
  }
  if (rule.rule.trim() === '') return nothing
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(self) : self
  const variables = new Map([
    ['self', self],
    ['oldSelf', oldSelf],
  ])
  const { expression, problems } = ruleLanguage().compile(rule.rule, variables)
  if (expression === undefined) return { ...nothing, problem: `compilation failed: ${problems}` }
  if (expression.type.kind !== 'bool') {
    return { ...nothing, problem: 'cel expression must evaluate to a bool' }
  }
  if (expression.constantError !== undefined) {
    return { ...nothing, problem: `program instantiation failed: ${expression.constantError}` }
  }
  const path = rule.fieldPath === '' ? '' : (fieldPath(rule.fieldPath, schema)?.path ?? '')
  const made = { ...nothing, program: expression, usesOldSelf: expression.uses('oldSelf'), path }
  if (rule.messageExpression === '') return made
  const message = ruleLanguage().compile(rule.messageExpression, variables)
  if (message.expression === undefined) {
    return {
      ...made,
      messageProblem: `messageExpression compilation failed: ${message.problems}`,
    }
  }
  if (message.expression.type.kind !== 'string') {
    return { ...made, messageProblem: 'messageExpression must evaluate to a string' }
  }
  if (message.expression.constantError !== undefined) {
    return {
      ...made,
      messageProblem: `messageExpression instantiation failed: ${message.expression.constantError}`,
    }
  }
  return { ...made, messageProgram: message.expression }
}
