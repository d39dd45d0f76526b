/** The pieces that compiled expressions are made of. Each counts its cost in the frame of its
 *  run. */

import { type CallCost, costOfJoined } from './cost/actual.ts'
import type { Implementation } from './declarations.ts'
import { foundAt, isIn, itemAt, shown } from './functions/standard.ts'
import { CelError, CostExceeded, failure, noOverload } from './values/errors.ts'
import { isInt } from './values/numbers.ts'
import { CelList, CelMap, goTypeName, none, Optional, type Value } from './values/values.ts'
import { ofChars, spendWork } from './values/work.ts'

/** The values and the cost of one run. */
export class RunFrame {
  readonly slots: (Value | CelError | undefined)[]
  readonly limit: number
  cost = 0

  constructor(slots: (Value | undefined)[], limit: number) {
    this.slots = slots
    this.limit = limit
  }

  spend(cost: number): void {
    this.cost += cost
    if (this.cost > this.limit) throw new CostExceeded()
  }
}

export type RunStep = (frame: RunFrame) => Value

export function fail(error: Error): never {
  throw error
}

export function attempt(make: () => Value): Value | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof CelError) return undefined
    throw error
  }
}

export interface Loop {
  readonly range: RunStep
  readonly variable: number
  readonly variable2: number | undefined
  readonly accumulator: number
}

/** Takes the items of a list, or the keys of a map, until `take` says that it is enough. */
export function each(
  frame: RunFrame,
  { range, variable, variable2 }: Loop,
  take: () => boolean,
): void {
  const of = range(frame)
  const { slots } = frame
  if (of instanceof CelList) {
    for (let i = 0; i < of.size; i++) {
      if (variable2 === undefined) slots[variable] = of.at(i)
      else {
        slots[variable] = i
        slots[variable2] = of.at(i)
      }
      if (!take()) return
    }
  } else if (of instanceof CelMap) {
    for (const key of of.keys()) {
      slots[variable] = key
      if (variable2 !== undefined) slots[variable2] = of.get(key)
      if (!take()) return
    }
  } else if (variable2 === undefined) {
    throw failure(`got '${goTypeName(of)}', expected iterable type`)
  } else throw failure(`unsupported comprehension range type: ${goTypeName(of)}`)
}

export function passes(frame: RunFrame, filter: RunStep | undefined): boolean {
  if (filter === undefined) return true
  const isKept = filter(frame)
  if (typeof isKept !== 'boolean') throw noOverload()
  if (!isKept) frame.spend(1)
  return isKept
}

/** A call whose cost follows from its arguments, and is counted before it runs. */
export function costed(
  call: Implementation,
  runs: readonly RunStep[],
  cost: CallCost | undefined,
): RunStep {
  const [first, second] = runs
  if (cost === undefined) {
    if (first !== undefined && second !== undefined && runs.length === 2) {
      return frame => {
        const [a, b] = [first(frame), second(frame)]
        frame.spend(1)
        spendRead(a)
        spendRead(b)
        return call(a, b)
      }
    }
    return frame => {
      const args = runs.map(run => run(frame))
      frame.spend(1)
      args.forEach(spendRead)
      return call(...args)
    }
  }
  return frame => {
    const args = runs.map(run => run(frame))
    frame.spend(cost(args))
    args.forEach(spendRead)
    return call(...args)
  }
}

/** Most functions look at all of a text. */
function spendRead(value: Value): void {
  if (typeof value === 'string' || value instanceof Uint8Array) spendWork(ofChars(value.length))
}

export function costedAfter(call: Implementation, runs: readonly RunStep[]): RunStep {
  return frame => {
    const result = call(...runs.map(run => run(frame)))
    frame.spend(costOfJoined(result))
    return result
  }
}

/** Membership in a list of constants costs nothing. */
export function memberOf(item: RunStep, list: CelList): RunStep {
  const plain = new Set<Value>()
  let isPlain = true
  for (let i = 0; i < list.size; i++) {
    const value = list.at(i)
    if (typeof value === 'string' || typeof value === 'boolean' || isInt(value)) plain.add(value)
    else isPlain = false
  }
  return frame => {
    const value = item(frame)
    return isPlain && typeof value !== 'object' ? plain.has(value) : isIn(value, list)
  }
}

export function logic(isAnd: boolean, [left, right]: readonly RunStep[]): RunStep {
  const [first, second] = [left as RunStep, right as RunStep]
  return frame => {
    let problem: CelError | undefined
    try {
      const value = first(frame)
      if (value === !isAnd) return value
      if (value !== isAnd) problem = noOverload()
    } catch (error) {
      if (!(error instanceof CelError)) throw error
      problem = error
    }
    if (problem === undefined) {
      const other = second(frame)
      if (typeof other !== 'boolean') throw noOverload()
      return other
    }
    if (attempt(() => second(frame)) === !isAnd) return !isAnd
    throw problem
  }
}

export function conditional([condition, yes, no]: readonly RunStep[]): RunStep {
  const [test, ifTrue, ifFalse] = [condition as RunStep, yes as RunStep, no as RunStep]
  return frame => {
    const value = test(frame)
    if (value === true) return ifTrue(frame)
    if (value === false) return ifFalse(frame)
    throw noOverload()
  }
}

export function notStrictlyFalse(operand: RunStep): RunStep {
  return frame => {
    frame.spend(1)
    try {
      return operand(frame) !== false
    } catch (error) {
      if (error instanceof CelError) return true
      throw error
    }
  }
}

/** A member of a value that may be missing. After `.?` and `[?` a value that has no members is
 *  wrong. */
export function maybeAt(of: Optional, key: Value, isAfterOptional: boolean): Value {
  const { value } = of
  const hasMembers = value instanceof CelMap || value instanceof CelList
  if (isAfterOptional && value !== undefined && !hasMembers && !(value instanceof Optional)) {
    throw failure(`no such key: ${shown(key)}`)
  }
  return optionallyAt(of, key)
}

function optionallyAt(of: Value, key: Value): Value {
  const found = foundAt(of, key)
  return found === undefined ? none : new Optional(found)
}

/** `a.?b` and `a[?b]`. */
export function optional([operand, key]: readonly RunStep[]): RunStep {
  const [first, second] = [operand as RunStep, key as RunStep]
  return frame => {
    const [of, name] = [first(frame), second(frame)]
    frame.spend(1)
    return optionallyAt(of, name)
  }
}

export function index([operand, key]: readonly RunStep[], isAfterOptional: boolean): RunStep {
  const [first, second] = [operand as RunStep, key as RunStep]
  return frame => {
    const [of, name] = [first(frame), second(frame)]
    frame.spend(1)
    return of instanceof Optional ? maybeAt(of, name, isAfterOptional) : itemAt(of, name)
  }
}

/** `a.or(b)` and `a.orValue(b)`: b runs only where a has no value. */
export function orElse(isValue: boolean, [operand, otherwise]: readonly RunStep[]): RunStep {
  const [first, second] = [operand as RunStep, otherwise as RunStep]
  return frame => {
    const of = first(frame)
    if (!(of instanceof Optional)) return of
    if (of.value === undefined) return second(frame)
    return isValue ? of.value : of
  }
}
