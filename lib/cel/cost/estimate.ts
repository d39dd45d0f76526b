/** The least and the greatest cost of an expression, before it runs, as cel-go estimates it. */

import {
  accumulatorName,
  type FunctionCall,
  type Comprehension,
  type Expr,
  operators,
} from '../ast.ts'
import { type CelType, firstParam, isOptional } from '../types.ts'
import { sizeOf } from '../values/values.ts'
import { type CallEstimate, estimateOfCall } from './call-estimates.ts'
import {
  exactly,
  itemNode,
  plus,
  type Range,
  type SizeAt,
  type Sized,
  times,
  union,
  unknownRange,
} from './ranges.ts'

/** The sizes of the entries of a list or a map. */
interface Entries {
  readonly isList: boolean
  readonly key: Range
  readonly value: Range
}

interface Local {
  readonly path: readonly string[]
  readonly size: Range | undefined
  readonly entries: Entries | undefined
}

interface CallParts {
  readonly target: Sized | undefined
  readonly args: readonly Sized[]
  readonly costs: readonly Range[]
}

const [selectCost, listCost, mapCost, structCost] = [1, 10, 30, 40]

export function estimateCost(expr: Expr, sizeAt: SizeAt): Range {
  return new Estimator(sizeAt).cost(expr)
}

class Estimator {
  readonly #sizeAt: SizeAt
  readonly #paths = new Map<Expr, readonly string[]>()
  readonly #sizes = new Map<Expr, Range>()
  readonly #entries = new Map<Expr, Entries>()
  readonly #locals = new Map<string, Local[]>()

  constructor(sizeAt: SizeAt) {
    this.#sizeAt = sizeAt
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
        return exactly(0)
      case 'ident':
        this.#paths.set(expr, this.#local(expr.name)?.path ?? [expr.name])
        return exactly(selectCost)
      case 'select': {
        const [name] = expr.overloads
        if (name !== undefined) {
          this.#paths.set(expr, [name])
          return exactly(selectCost)
        }
        const operand = this.cost(expr.operand)
        if (expr.isTest) return operand
        const { kind } = expr.operand.type as CelType
        const isCounted = ['map', 'struct', 'param'].includes(kind)
        this.#paths.set(expr, [...this.#path(expr.operand), expr.field])
        return isCounted ? plus(operand, exactly(selectCost)) : operand
      }
      case 'call':
        return this.#call(expr)
      case 'list': {
        const costs = expr.items.map(item => this.cost(item))
        const value = this.#unionOf(expr.items)
        this.#entries.set(expr, { isList: true, key: exactly(1), value })
        return costs.reduce(plus, exactly(listCost))
      }
      case 'map': {
        const costs = expr.entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)])
        const key = this.#unionOf(expr.entries.map(entry => entry.key))
        const value = this.#unionOf(expr.entries.map(entry => entry.value))
        this.#entries.set(expr, { isList: false, key, value })
        return costs.reduce(plus, exactly(mapCost))
      }
      case 'struct':
        return expr.entries.map(({ value }) => this.cost(value)).reduce(plus, exactly(structCost))
      case 'comprehension':
        return isBind(expr) ? this.#bind(expr) : this.#loop(expr)
    }
  }

  #unionOf(exprs: readonly Expr[]): Range {
    if (exprs.length === 0) return exactly(0)
    return exprs.map(expr => this.#sizeOrUnknown(expr)).reduce(union)
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #push(name: string, local: Local): void {
    const known = this.#locals.get(name)
    if (known === undefined) this.#locals.set(name, [local])
    else known.push(local)
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop()
  }

  #path(expr: Expr): readonly string[] {
    if (expr.kind === 'ident') {
      const local = this.#local(expr.name)
      if (local !== undefined) return local.path
    }
    return this.#paths.get(expr) ?? []
  }

  #size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr)
    if (known !== undefined) return known
    const literal = literalSize(expr)
    if (literal !== undefined) return literal
    const path = this.#path(expr)
    const estimated = path.length === 0 ? undefined : this.#sizeAt(path)
    if (estimated !== undefined) {
      this.#sizes.set(expr, estimated)
      return estimated
    }
    if (isScalar(expr.type as CelType)) return exactly(1)
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined
  }

  #sizeOrUnknown(expr: Expr): Range {
    return this.#size(expr) ?? unknownRange
  }

  #entriesOf(expr: Expr): Entries | undefined {
    const known = this.#entries.get(expr)
    if (known !== undefined) return known
    return expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined
  }

  #sized(expr: Expr): Sized {
    const path = this.#path(expr)
    const ownPath = path[0] === accumulatorName ? [] : path
    const type = expr.type as CelType
    const size = this.#size(expr)
    return {
      expr,
      type,
      size: size ?? unknownRange,
      hasSize: size !== undefined,
      item: () => itemNode(firstParam(type), ownPath, this.#sizeAt),
    }
  }

  #call(expr: FunctionCall): Range {
    const { args, target } = expr
    const [first] = args
    if (expr.name === 'dyn' && target === undefined && first !== undefined) {
      const cost = this.cost(first)
      this.#copySizes(expr, first)
      return plus(cost, exactly(1))
    }
    const costs = args.map(arg => this.cost(arg))
    const sized = args.map(arg => this.#sized(arg))
    if (expr.overloads.length === 0) return exactly(0)
    const targetCost = target === undefined ? exactly(0) : this.cost(target)
    const parts: CallParts = {
      target: target === undefined ? undefined : this.#sized(target),
      args: sized,
      costs,
    }
    let total: Range | undefined
    let size: Range | undefined
    for (const overload of expr.overloads) {
      const estimate = this.#estimate(expr, overload, parts)
      total = total === undefined ? estimate.cost : union(total, estimate.cost)
      if (estimate.size !== undefined) {
        size = size === undefined ? estimate.size : union(size, estimate.size)
      }
      if ((overload === 'index_list' || overload === 'index_map') && first !== undefined) {
        size = this.#entriesOf(first)?.value
        const step = overload === 'index_list' ? '@items' : '@values'
        this.#paths.set(expr, [...this.#path(first), step])
      }
      size ??= this.#size(expr)
    }
    if (size !== undefined) this.#sizes.set(expr, size)
    return plus(targetCost, total ?? exactly(0))
  }

  #estimate(expr: FunctionCall, overload: string, parts: CallParts): CallEstimate {
    const { args, costs } = parts
    const [first, second, third] = expr.args
    switch (expr.name) {
      case operators.and:
      case operators.or: {
        const [left = exactly(0), right = exactly(0)] = costs
        return { cost: { min: left.min, max: plus(left, right).max } }
      }
      case operators.conditional: {
        const [, yes, no] = args as [Sized, Sized, Sized]
        const [condition, ifYes, ifNo] = costs as [Range, Range, Range]
        this.#joinEntries(expr, second as Expr, third as Expr)
        return { cost: plus(condition, union(ifYes, ifNo)), size: union(yes.size, no.size) }
      }
    }
    if (['add_string', 'add_bytes', 'add_list'].includes(overload)) {
      this.#joinEntries(expr, first as Expr, second as Expr)
    }
    const own = estimateOfCall(expr.name, overload, parts)
    return { ...own, cost: costs.reduce(plus, own.cost) }
  }

  #joinEntries(expr: Expr, a: Expr, b: Expr): void {
    const [left, right] = [this.#entriesOf(a), this.#entriesOf(b)]
    if (left === undefined || right === undefined) return
    this.#entries.set(expr, {
      isList: left.isList,
      key: union(left.key, right.key),
      value: union(left.value, right.value),
    })
  }

  #copySizes(to: Expr, from: Expr): void {
    const [size, entries] = [this.#size(from), this.#entriesOf(from)]
    if (size !== undefined) this.#sizes.set(to, size)
    if (entries !== undefined) this.#entries.set(to, entries)
  }

  #bind(expr: Comprehension): Range {
    const cost = plus(this.cost(expr.range), this.cost(expr.start))
    this.#push(expr.accumulator, this.#localOf(expr.start))
    const result = this.cost(expr.result)
    this.#pop(expr.accumulator)
    this.#copySizes(expr, expr.result)
    return plus(cost, result)
  }

  #localOf(expr: Expr): Local {
    return { path: this.#path(expr), size: this.#size(expr), entries: this.#entriesOf(expr) }
  }

  #loop(expr: Comprehension): Range {
    const { range, start, variable, variable2, accumulator } = expr
    let sum = plus(this.cost(range), this.cost(start))
    this.#push(accumulator, this.#localOf(start))
    this.#pushVariables(expr)
    const condition = this.cost(expr.condition)
    const step = this.cost(expr.step)
    this.#pop(variable)
    if (variable2 !== undefined) this.#pop(variable2)
    sum = plus(sum, this.cost(expr.result))
    this.#pop(accumulator)
    const count = this.#sizeOrUnknown(range)
    sum = plus(sum, times(count, plus(step, condition)))
    if (start.kind === 'literal') {
      const size = this.#size(start)
      if (size !== undefined) this.#sizes.set(expr, size)
    } else if (start.kind === 'list' || start.kind === 'map') {
      this.#sizes.set(expr, count)
      const entries = this.#entriesOf(expr.step)
      if (entries !== undefined) this.#entries.set(expr, entries)
    }
    return sum
  }

  #pushVariables({ range, variable, variable2 }: Comprehension): void {
    const entries = this.#entriesOf(range)
    const path = this.#path(range)
    const isList = entries?.isList ?? range.type?.kind === 'list'
    const local = (step: string, size: Range | undefined): Local => ({
      path: [...path, step],
      size,
      entries: undefined,
    })
    const value = local(isList ? '@items' : '@values', entries?.value)
    const key = local(isList ? '@indices' : '@keys', entries?.key)
    if (variable2 === undefined) this.#push(variable, isList ? value : key)
    else {
      this.#push(variable, key)
      this.#push(variable2, value)
    }
  }
}

function isBind({ range, condition, accumulator }: Comprehension): boolean {
  return (
    range.kind === 'list' &&
    range.items.length === 0 &&
    condition.kind === 'literal' &&
    condition.value === false &&
    accumulator !== accumulatorName
  )
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'literal') return exactly(sizeOf(expr.value))
  if (expr.kind === 'list') return exactly(expr.items.length)
  return expr.kind === 'map' ? exactly(expr.entries.length) : undefined
}

function isScalar(type: CelType): boolean {
  if (isOptional(type)) return isScalar(firstParam(type))
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind)
}
