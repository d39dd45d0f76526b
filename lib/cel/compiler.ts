/** Makes functions of a checked expression. Each counts what it costs, as Kubernetes counts it,
 *  and stops the run at its limit. */

import { patternProblem } from '@watchglass/go'
import {
  accumulatorName,
  type FunctionCall,
  type Comprehension,
  type Expr,
  type List,
  type MapLiteral,
  operators,
  type Struct,
} from './ast.ts'
import { costOfCall } from './cost/actual.ts'
import type { Functions, Implementation } from './declarations.ts'
import { withGuard } from './guards.ts'
import { insertInto, zeros } from './functions/lists.ts'
import { makeStruct, StructValue } from './functions/patches.ts'
import { foundAt } from './functions/standard.ts'
import {
  attempt,
  conditional,
  costed,
  costedAfter,
  each,
  fail,
  RunFrame,
  index,
  logic,
  type Loop,
  maybeAt,
  memberOf,
  notStrictlyFalse,
  optional,
  orElse,
  passes,
  type RunStep,
} from './runs.ts'
import { CelError, CostExceeded, failure, noOverload } from './values/errors.ts'
import {
  ArrayList,
  CelList,
  CelMap,
  EntryMap,
  Optional,
  TypeValue,
  type Value,
} from './values/values.ts'
import { beginWork, endWork } from './values/work.ts'

/** The result of a run: an error has a message in cel-go's words. */
export type EvaluationOutcome = Spent &
  (
    | { readonly value: Value; readonly error?: undefined }
    | { readonly error: string; readonly value?: undefined }
  )

interface Spent {
  /** As Kubernetes counts it. */
  readonly cost: number
  /** As values/work.ts counts it; 0 for a run within another one. */
  readonly work: number
}

/** A compiled expression. */
export interface Program {
  /** Runs with the values of the variables, in their order. */
  readonly run: (inputs: readonly (Value | undefined)[], limit: number) => EvaluationOutcome
  /** The error of a constant part, for which cel-go makes no program: `int('x')`. */
  readonly constantError: string | undefined
}

/** The functions that expressions may call. */
export interface Callables {
  readonly implementations: ReadonlyMap<string, Implementation>
  readonly functions: Functions
}

/** Compiles a checked expression. */
export function compileChecked(
  expr: Expr,
  variables: Iterable<string>,
  callables: Callables,
): Program {
  const compiler = new Compiler([...variables], callables)
  const { run } = compiler.compile(expr)
  const { slotCount, constantError } = compiler
  return {
    constantError,
    run: (inputs, limit) => {
      const slots = inputs.slice()
      while (slots.length < slotCount) slots.push(undefined)
      const frame = new RunFrame(slots, limit)
      const before = beginWork()
      let work = 0
      let value: Value | undefined
      let problem: string | undefined
      try {
        value = run(frame)
      } catch (error) {
        problem = problemOf(error)
      } finally {
        work = endWork(before)
      }
      const { cost } = frame
      return value === undefined ? { error: problem ?? '', cost, work } : { value, cost, work }
    },
  }
}

/** Values nest as deep as variables of policies that name each other make them, and so does what
 *  walks through them: deeper than the stack is, that is an error of the expression. */
function problemOf(error: unknown): string {
  if (error instanceof CelError || error instanceof CostExceeded) return error.message
  if (error instanceof RangeError) return 'values or variables are nested too deeply'
  throw error
}

/** An expression as a function; a constant needs no run. */
interface Compiled {
  readonly run: RunStep
  readonly constant?: Value
}

const conversions: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
])

/** Calls whose second argument is a pattern: a constant one is compiled once, with the call. */
const patterned: ReadonlySet<string> = new Set(['find', 'findAll', 'matches'])

/** Costs of these calls are known only after them. */
const costsAfter: ReadonlySet<string> = new Set(['join'])

class Compiler {
  readonly #callables: Callables
  /** The slots of names, the innermost last. */
  readonly #scopes: (readonly [name: string, slot: number])[]
  slotCount: number
  constantError: string | undefined

  constructor(variables: readonly string[], callables: Callables) {
    this.#callables = callables
    this.#scopes = variables.map((name, slot) => [name, slot] as const)
    this.slotCount = variables.length
  }

  compile(expr: Expr): Compiled {
    switch (expr.kind) {
      case 'literal':
        return constant(expr.value)
      case 'ident':
        return this.#named(expr.overloads[0] ?? expr.name)
      case 'select': {
        const [name] = expr.overloads
        return name === undefined ? { run: this.#select(expr) } : this.#named(name)
      }
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'struct':
        return { run: this.#struct(expr) }
      case 'comprehension':
        return { run: this.#comprehension(expr) }
    }
  }

  #run(expr: Expr): RunStep {
    return this.compile(expr).run
  }

  #slotOf(name: string): number | undefined {
    return this.#scopes.findLast(([known]) => known === name)?.[1]
  }

  #named(name: string): Compiled {
    const slot = this.#slotOf(name)
    if (slot === undefined) return typeConstant(name)
    return {
      run: frame => {
        frame.spend(1)
        const value = frame.slots[slot]
        if (value === undefined) throw failure(`no such attribute(s): ${name}`)
        if (value instanceof CelError) throw value
        return value
      },
    }
  }

  #select({ operand, field, isTest }: Expr & { readonly kind: 'select' }): RunStep {
    const run = this.#run(operand)
    const isAfterOptional = isOptionalPart(operand)
    if (isTest) {
      return frame => {
        const of = run(frame)
        if (of instanceof Optional) {
          return of.value !== undefined && foundAt(of.value, field) !== undefined
        }
        if (of instanceof CelMap) return of.get(field) !== undefined
        if (of instanceof CelList) foundAt(of, field)
        return of instanceof StructValue && of.has(field)
      }
    }
    return frame => {
      const of = run(frame)
      frame.spend(1)
      if (of instanceof CelMap) {
        const found = of.get(field)
        if (found !== undefined) return found
      } else if (of instanceof Optional) return maybeAt(of, field, isAfterOptional)
      else if (of instanceof StructValue) {
        const found = of.get(field)
        if (found !== undefined) return found
      } else if (of instanceof CelList) foundAt(of, field)
      throw failure(`no such key: ${field}`)
    }
  }

  #list(expr: List): Compiled {
    const { items, optionals } = expr
    const compiled = items.map(item => this.compile(item))
    const make = (frame: RunFrame): Value => {
      const values: Value[] = []
      for (const [i, { run }] of compiled.entries()) {
        const value = run(frame)
        if (!optionals.has(i)) values.push(value)
        else if (!(value instanceof Optional)) {
          throw failure('cannot initialize optional list element from non-optional value')
        } else if (value.value !== undefined) values.push(value.value)
      }
      return new ArrayList(values)
    }
    return literal(compiled, make, 10)
  }

  #map({ entries }: MapLiteral): Compiled {
    const compiled = entries.map(({ key, value, isOptional }) => ({
      key: this.compile(key),
      value: this.compile(value),
      isOptional,
    }))
    const parts = compiled.flatMap(({ key, value }) => [key, value])
    const areConstants = parts.every(part => 'constant' in part)
    const make = (frame: RunFrame): Value => {
      const map = new EntryMap()
      for (const { key, value, isOptional } of compiled) {
        const name = key.run(frame)
        let member = value.run(frame)
        if (isOptional) {
          if (!(member instanceof Optional)) {
            throw failure('cannot initialize optional entry from non-optional value')
          }
          if (member.value === undefined) continue
          member = member.value
        }
        // Of constants the last one of a name counts.
        if (areConstants) map.set(name, member)
        else if (!map.add(name, member)) throw failure('Failed with repeated key')
      }
      return map
    }
    return literal(parts, make, 30)
  }

  #struct({ name, overloads, entries }: Struct): RunStep {
    const fields = entries.map(entry => ({ ...entry, run: this.#run(entry.value) }))
    return frame => {
      const values = new Map<string, Value>()
      for (const { name: field, isOptional, run } of fields) {
        let value = run(frame)
        if (isOptional) {
          if (!(value instanceof Optional)) {
            throw failure(`cannot initialize optional entry '${field}' from non-optional value`)
          }
          if (value.value === undefined) continue
          value = value.value
        }
        values.set(field, value)
      }
      frame.spend(40)
      return makeStruct(overloads[0] ?? name, values)
    }
  }

  #call(expr: FunctionCall): Compiled {
    const args = expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    switch (expr.name) {
      case operators.and:
      case operators.or:
        return { run: logic(expr.name === operators.and, this.#runs(args)) }
      case operators.conditional:
        return { run: conditional(this.#runs(args)) }
      case operators.notStrictlyFalse:
        return { run: notStrictlyFalse(this.#run(args[0] as Expr)) }
      case operators.optSelect:
      case operators.optIndex:
        return { run: optional(this.#runs(args)) }
      case operators.index:
        return { run: index(this.#runs(args), isOptionalPart(args[0])) }
    }
    if (expr.target !== undefined && (expr.name === 'or' || expr.name === 'orValue')) {
      return { run: orElse(expr.name === 'orValue', this.#runs(args)) }
    }
    return this.#plainCall(expr, args)
  }

  #runs(exprs: readonly Expr[]): readonly RunStep[] {
    return exprs.map(expr => this.#run(expr))
  }

  #plainCall(expr: FunctionCall, args: readonly Expr[]): Compiled {
    const { name, overloads } = expr
    const [overload = ''] = overloads.length === 1 ? overloads : []
    const compiled = args.map(arg => this.compile(arg))
    const [first, second] = compiled
    if (overload === 'in_list' && first !== undefined && second?.constant instanceof CelList) {
      return { run: memberOf(first.run, second.constant) }
    }
    const zero = zeros[overload]
    const known = this.#callables.implementations.get(name)
    if (known === undefined) return { run: () => fail(noOverload(name)) }
    const plain: Implementation =
      zero === undefined
        ? known
        : list => (list instanceof CelList && list.size === 0 ? zero : known(list))
    const call = withGuard(plain, this.#callables.functions.get(name), overload)
    if (conversions.has(name) && first !== undefined && 'constant' in first) {
      try {
        return constant(call(first.constant as Value))
      } catch (error) {
        if (!(error instanceof CelError)) throw error
        this.constantError ??= error.message
      }
    }
    if (patterned.has(name) && typeof second?.constant === 'string') {
      this.constantError ??= patternProblem(second.constant)
    }
    const runs = compiled.map(({ run }) => run)
    const cost = costOfCall(name, overload)
    if (costsAfter.has(name)) return { run: costedAfter(call, runs) }
    return { run: costed(call, runs, cost) }
  }

  #comprehension(expr: Comprehension): RunStep {
    if (isBind(expr)) return this.#bind(expr)
    const range = this.#run(expr.range)
    const start = this.#run(expr.start)
    const depth = this.#scopes.length
    const accumulator = this.#declare(expr.accumulator)
    const variable = this.#declare(expr.variable)
    const variable2 = expr.variable2 === undefined ? undefined : this.#declare(expr.variable2)
    const loop: Loop = { range, variable, variable2, accumulator }
    const run =
      this.#quantified(expr, loop) ?? this.#collected(expr, loop) ?? this.#folded(expr, loop, start)
    this.#scopes.length = depth
    return run
  }

  #declare(name: string): number {
    const slot = this.slotCount++
    this.#scopes.push([name, slot])
    return slot
  }

  #bind(expr: Comprehension): RunStep {
    const start = this.#run(expr.start)
    const slot = this.#declare(expr.accumulator)
    const result = this.#run(expr.result)
    this.#scopes.pop()
    return frame => {
      frame.slots[slot] = start(frame)
      return result(frame)
    }
  }

  /** `all` and `exists`: the loop ends with the first answer, and an error only counts if none
   *  comes. */
  #quantified({ quantifier }: Comprehension, loop: Loop): RunStep | undefined {
    if (quantifier === undefined) return undefined
    const { isAll } = quantifier
    const predicate = this.#run(quantifier.predicate)
    const stepCost = isAll ? 3 : 4
    return frame => {
      let error: CelError | undefined
      let isDone = false
      each(frame, loop, () => {
        frame.spend(stepCost)
        try {
          const value = predicate(frame)
          if (typeof value !== 'boolean') throw noOverload()
          isDone = value !== isAll
        } catch (thrown) {
          if (!(thrown instanceof CelError)) throw thrown
          error ??= thrown
        }
        return !isDone
      })
      frame.spend(1)
      if (isDone) return !isAll
      if (error !== undefined) throw error
      return isAll
    }
  }

  /** Loops that add to a list or a map: what they make is theirs alone until they end. */
  #collected(expr: Comprehension, loop: Loop): RunStep | undefined {
    const { start, step } = expr
    const isList = start.kind === 'list' && start.items.length === 0
    const isMap = start.kind === 'map' && start.entries.length === 0
    if (expr.accumulator !== accumulatorName || (!isList && !isMap)) return undefined
    const isFiltered = step.kind === 'call' && step.name === operators.conditional
    const adding = isFiltered ? (step.args[1] as Expr) : step
    if (adding.kind !== 'call') return undefined
    const filter = isFiltered ? this.#run(step.args[0] as Expr) : undefined
    if (isList) {
      const [, items] = adding.args
      if (items?.kind !== 'list') return undefined
      const item = this.#run(items.items[0] as Expr)
      return frame => {
        const values: Value[] = []
        each(frame, loop, () => {
          if (!passes(frame, filter)) return true
          frame.spend(12)
          values.push(item(frame))
          return true
        })
        frame.spend(1)
        return new ArrayList(values)
      }
    }
    const [key, value] = this.#runs(adding.args.slice(1))
    if (key === undefined) return undefined
    return frame => {
      const map = new EntryMap()
      each(frame, loop, () => {
        if (!passes(frame, filter)) return true
        frame.spend(2)
        insertInto(map, key(frame), value?.(frame))
        return true
      })
      frame.spend(1)
      return map
    }
  }

  #folded(expr: Comprehension, loop: Loop, start: RunStep): RunStep {
    const { accumulator } = loop
    const condition = this.#run(expr.condition)
    const step = this.#run(expr.step)
    const result = this.#run(expr.result)
    return frame => {
      const first = start(frame)
      // The range is found out first, so that an error in it is the one that is told.
      frame.slots[accumulator] = first
      each(frame, loop, () => {
        if (condition(frame) !== true) return false
        frame.slots[accumulator] = step(frame)
        return true
      })
      return result(frame)
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

function constant(value: Value): Compiled {
  return { run: () => value, constant: value }
}

function isOptionalPart(expr: Expr | undefined): boolean {
  if (expr?.kind !== 'call') return false
  return expr.name === operators.optSelect || expr.name === operators.optIndex
}

/** A type that is named stands for itself. */
function typeConstant(name: string): Compiled {
  return constant(new TypeValue(name))
}

/** A list or a map: one of constants is a constant. */
function literal(parts: readonly Compiled[], make: RunStep, cost: number): Compiled {
  if (parts.every(part => 'constant' in part)) {
    const value = attempt(() => make(new RunFrame([], Infinity)))
    if (value !== undefined) return constant(value)
  }
  return {
    run: frame => {
      const value = make(frame)
      frame.spend(cost)
      return value
    },
  }
}
