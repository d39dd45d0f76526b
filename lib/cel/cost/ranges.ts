/** Least and greatest amounts; Infinity is more than a uint64 holds. */

import type { Expr } from '../ast.ts'
import type { CelType } from '../types.ts'

export interface Range {
  readonly min: number
  readonly max: number
}

export const unknownRange: Range = { min: 0, max: Infinity }

export function exactly(amount: number): Range {
  return { min: amount, max: amount }
}

export function plus(a: Range, b: Range): Range {
  return { min: a.min + b.min, max: a.max + b.max }
}

/** Nothing times without a limit is nothing. */
function product(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b
}

export function times(a: Range, b: Range): Range {
  return { min: product(a.min, b.min), max: product(a.max, b.max) }
}

/** The range times a factor, rounded up. */
export function scaled({ min, max }: Range, factor: number): Range {
  return { min: Math.ceil(product(min, factor)), max: Math.ceil(product(max, factor)) }
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
}

/** The size of the value at a path from a variable; undefined where nothing is known. */
export type SizeAt = (path: readonly string[]) => Range | undefined

/** A target or an argument of a call. */
export interface Sized {
  readonly expr: Expr | undefined
  readonly type: CelType
  /** Unknown where nothing says it. */
  readonly size: Range
  readonly hasSize: boolean
  /** The items of a list. */
  readonly item: () => Sized
}

/** The items of the list at a path. */
export function itemNode(type: CelType, path: readonly string[], sizeAt: SizeAt): Sized {
  const own = path.length === 0 ? undefined : [...path, '@items']
  const size = own === undefined ? undefined : sizeAt(own)
  return {
    expr: undefined,
    type,
    size: size ?? unknownRange,
    hasSize: size !== undefined,
    item: () => itemNode(type.params[0] ?? type, own ?? [], sizeAt),
  }
}
