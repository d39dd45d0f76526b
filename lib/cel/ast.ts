/** Expressions as the parser makes them. Macros are gone: what they stand for has the place of the
 *  call. */

import type { Value } from './values/values.ts'
import type { CelType } from './types.ts'

interface Node {
  /** The place in the source, in UTF-16 units. */
  readonly offset: number
  /** Given by the checker. */
  type: CelType | undefined
  /** The overloads that a call may mean; the name that an identifier means. */
  overloads: readonly string[]
}

export interface Literal extends Node {
  readonly kind: 'literal'
  readonly value: Value
}

export interface Ident extends Node {
  readonly kind: 'ident'
  name: string
}

export interface Select extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  /** Made by has(): asks if the field is there. */
  readonly isTest: boolean
}

export interface FunctionCall extends Node {
  readonly kind: 'call'
  name: string
  target: Expr | undefined
  readonly args: readonly Expr[]
}

export interface List extends Node {
  readonly kind: 'list'
  readonly items: readonly Expr[]
  /** The items that are left out where they have no value. */
  readonly optionals: ReadonlySet<number>
}

export interface MapLiteralEntry {
  readonly offset: number
  readonly key: Expr
  readonly value: Expr
  readonly isOptional: boolean
}

export interface MapLiteral extends Node {
  readonly kind: 'map'
  readonly entries: readonly MapLiteralEntry[]
}

export interface StructField {
  readonly offset: number
  readonly name: string
  readonly value: Expr
  readonly isOptional: boolean
}

export interface Struct extends Node {
  readonly kind: 'struct'
  readonly name: string
  readonly entries: readonly StructField[]
}

/** A loop over a list or a map, with a result that each step makes anew. */
export interface Comprehension extends Node {
  readonly kind: 'comprehension'
  readonly range: Expr
  readonly variable: string
  /** The second of two variables. */
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly start: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
  readonly quantifier: Quantifier | undefined
}

export interface Quantifier {
  readonly isAll: boolean
  readonly predicate: Expr
}

export type Expr =
  | Literal
  | Ident
  | Select
  | FunctionCall
  | List
  | MapLiteral
  | Struct
  | Comprehension

/** The name that a macro's result has while it is made: no expression can name it. */
export const accumulatorName = '@result'

/** Operators by the names of their functions. */
export const operators = {
  add: '_+_',
  and: '_&&_',
  conditional: '_?_:_',
  divide: '_/_',
  equals: '_==_',
  greater: '_>_',
  greaterEquals: '_>=_',
  in: '@in',
  index: '_[_]',
  less: '_<_',
  lessEquals: '_<=_',
  modulo: '_%_',
  multiply: '_*_',
  negate: '-_',
  not: '!_',
  notEquals: '_!=_',
  notStrictlyFalse: '@not_strictly_false',
  optIndex: '_[?_]',
  optSelect: '_?._',
  or: '_||_',
  subtract: '_-_',
} as const

const noOverloads: readonly string[] = []

/** The members that every new expression has. */
export function nodeAt(offset: number): {
  offset: number
  type: CelType | undefined
  overloads: readonly string[]
} {
  return { offset, type: undefined, overloads: noOverloads }
}

/** The expressions directly in one. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return []
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.items
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'struct':
      return expr.entries.map(({ value }) => value)
    case 'comprehension':
      return [expr.range, expr.start, expr.condition, expr.step, expr.result]
  }
}

/** The dotted name that an expression may be: `a.b.c`. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.isTest) return undefined
  const operand = qualifiedName(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}
