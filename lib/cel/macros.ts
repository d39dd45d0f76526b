/** Macros: calls that the parser replaces by what they stand for. */

import {
  accumulatorName,
  type Comprehension,
  type Expr,
  nodeAt,
  operators,
  type Quantifier,
} from './ast.ts'
import type { Value } from './values/values.ts'
import { partsOf } from './ast.ts'

/** The arguments of a macro make no sense; the problem stands at an argument. */
export class MacroProblem extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

/** Makes expressions at the place of the call. */
export interface Maker {
  readonly offset: number
  /** Notes that an expression is there once more: copies of copies grow fast. */
  readonly copied: (nodes: number) => void
}

export type Macro = (
  maker: Maker,
  target: Expr | undefined,
  args: readonly Expr[],
) => Expr | undefined

const unusedName = '#unused'

function literal({ offset }: Maker, value: Value): Expr {
  return { ...nodeAt(offset), kind: 'literal', value }
}

function ident({ offset }: Maker, name: string): Expr {
  return { ...nodeAt(offset), kind: 'ident', name }
}

function list({ offset }: Maker, ...items: Expr[]): Expr {
  return { ...nodeAt(offset), kind: 'list', items, optionals: new Set() }
}

function call({ offset }: Maker, name: string, ...args: Expr[]): Expr {
  return { ...nodeAt(offset), kind: 'call', name, target: undefined, args }
}

function memberCall({ offset }: Maker, name: string, target: Expr, ...args: Expr[]): Expr {
  return { ...nodeAt(offset), kind: 'call', name, target, args }
}

type Loop = Pick<Comprehension, 'range' | 'variable' | 'start' | 'condition' | 'step' | 'result'> &
  Partial<Pick<Comprehension, 'variable2' | 'accumulator' | 'quantifier'>>

function loop({ offset }: Maker, parts: Loop): Expr {
  return {
    variable2: undefined,
    accumulator: accumulatorName,
    quantifier: undefined,
    ...parts,
    ...nodeAt(offset),
    kind: 'comprehension',
  }
}

/** A value with a name, in another expression. */
function bind(maker: Maker, name: string, [value, body]: readonly [Expr, Expr]): Expr {
  return loop(maker, {
    range: list(maker),
    variable: unusedName,
    accumulator: name,
    start: value,
    condition: literal(maker, false),
    step: ident(maker, name),
    result: body,
  })
}

/** The expression again: each has a type of its own. */
function copy(maker: Maker, expr: Expr): Expr {
  maker.copied(countOf(expr))
  return copyOf(expr)
}

function countOf(expr: Expr): number {
  return partsOf(expr).reduce((sum, part) => sum + countOf(part), 1)
}

function copyOf(expr: Expr): Expr {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return { ...expr }
    case 'select':
      return { ...expr, operand: copyOf(expr.operand) }
    case 'call': {
      const target = expr.target === undefined ? undefined : copyOf(expr.target)
      return { ...expr, target, args: expr.args.map(copyOf) }
    }
    case 'list':
      return { ...expr, items: expr.items.map(copyOf) }
    case 'map': {
      const entries = expr.entries.map(entry => ({
        ...entry,
        key: copyOf(entry.key),
        value: copyOf(entry.value),
      }))
      return { ...expr, entries }
    }
    case 'struct': {
      const entries = expr.entries.map(entry => ({ ...entry, value: copyOf(entry.value) }))
      return { ...expr, entries }
    }
    case 'comprehension':
      return copyOfLoop(expr)
  }
}

function copyOfLoop(expr: Comprehension): Expr {
  const { quantifier } = expr
  const step = copyOf(expr.step)
  // The predicate is the last argument of the step.
  const predicate = step.kind === 'call' ? step.args[1] : undefined
  return {
    ...expr,
    range: copyOf(expr.range),
    start: copyOf(expr.start),
    condition: copyOf(expr.condition),
    step,
    result: copyOf(expr.result),
    quantifier:
      quantifier === undefined || predicate === undefined
        ? undefined
        : { ...quantifier, predicate },
  }
}

function variableOf(expr: Expr, message: string): string {
  if (expr.kind !== 'ident' || expr.name.startsWith('.')) {
    throw new MacroProblem(expr.offset, message)
  }
  if (expr.name === accumulatorName || expr.name === '__result__') {
    throw new MacroProblem(expr.offset, 'iteration variable overwrites accumulator variable')
  }
  return expr.name
}

const simpleName = 'argument must be a simple name'
const noIdentifier = 'argument is not an identifier'

/** The variables before the last arguments. */
interface Variables {
  readonly variable: string
  readonly variable2: string | undefined
  readonly rest: readonly Expr[]
}

function oneVariable(args: readonly Expr[], message: string): Variables {
  return {
    variable: variableOf(args[0] as Expr, message),
    variable2: undefined,
    rest: args.slice(1),
  }
}

function twoVariables(args: readonly Expr[]): Variables {
  const [first, second] = args as [Expr, Expr]
  const nameOf = (expr: Expr): string => {
    if (expr.kind !== 'ident') throw new MacroProblem(expr.offset, simpleName)
    return expr.name
  }
  const [name1, name2] = [nameOf(first), nameOf(second)]
  if (name1 === name2) {
    throw new MacroProblem(second.offset, `duplicate variable name: ${name1}`)
  }
  return {
    variable: variableOf(first, simpleName),
    variable2: variableOf(second, simpleName),
    rest: args.slice(2),
  }
}

const readOne = (args: readonly Expr[]): Variables => oneVariable(args, simpleName)

function has({ offset }: Maker, _: Expr | undefined, [arg]: readonly Expr[]): Expr {
  if (arg?.kind !== 'select' || arg.isTest) {
    throw new MacroProblem(arg?.offset ?? offset, 'invalid argument to has() macro')
  }
  return { ...nodeAt(offset), kind: 'select', operand: arg.operand, field: arg.field, isTest: true }
}

function quantifierMacro(isAll: boolean, read: (args: readonly Expr[]) => Variables): Macro {
  return (maker, target, args) => {
    const { variable, variable2, rest } = read(args)
    const predicate = rest[0] as Expr
    const result = ident(maker, accumulatorName)
    const going = ident(maker, accumulatorName)
    const condition = isAll ? going : call(maker, operators.not, going)
    const quantifier: Quantifier = { isAll, predicate }
    return loop(maker, {
      range: target as Expr,
      variable,
      variable2,
      start: literal(maker, isAll),
      condition: call(maker, operators.notStrictlyFalse, condition),
      step: call(
        maker,
        isAll ? operators.and : operators.or,
        ident(maker, accumulatorName),
        predicate,
      ),
      result,
      quantifier,
    })
  }
}

function existsOneMacro(read: (args: readonly Expr[]) => Variables): Macro {
  return (maker, target, args) => {
    const { variable, variable2, rest } = read(args)
    const accu = (): Expr => ident(maker, accumulatorName)
    const more = call(maker, operators.add, accu(), literal(maker, 1))
    return loop(maker, {
      range: target as Expr,
      variable,
      variable2,
      start: literal(maker, 0),
      condition: literal(maker, true),
      step: call(maker, operators.conditional, rest[0] as Expr, more, accu()),
      result: call(maker, operators.equals, accu(), literal(maker, 1)),
    })
  }
}

/** A loop that adds to what it makes where a filter, if there is one, lets it. */
function collector(
  read: (args: readonly Expr[]) => Variables,
  start: (maker: Maker) => Expr,
  add: (maker: Maker, last: Expr, variables: Variables) => Expr,
): Macro {
  return (maker, target, args) => {
    const variables = read(args)
    const { rest } = variables
    let step = add(maker, rest.at(-1) as Expr, variables)
    if (rest.length === 2) {
      const kept = ident(maker, accumulatorName)
      step = call(maker, operators.conditional, rest[0] as Expr, step, kept)
    }
    return loop(maker, {
      range: target as Expr,
      variable: variables.variable,
      variable2: variables.variable2,
      start: start(maker),
      condition: literal(maker, true),
      step,
      result: ident(maker, accumulatorName),
    })
  }
}

const addItem = (maker: Maker, item: Expr): Expr =>
  call(maker, operators.add, ident(maker, accumulatorName), list(maker, item))

const mapMacro: Macro = collector(args => oneVariable(args, noIdentifier), list, addItem)

/** Keeps the items for which the predicate is true. */
const filterMacro: Macro = (maker, target, args) => {
  const [variable, predicate] = args as [Expr, Expr]
  return mapMacro(maker, target, [variable, predicate, { ...variable }])
}

const emptyMap = ({ offset }: Maker): Expr => ({ ...nodeAt(offset), kind: 'map', entries: [] })

const insertName = 'cel.@mapInsert'

const transformMap: Macro = collector(twoVariables, emptyMap, (maker, value, { variable }) =>
  call(maker, insertName, ident(maker, accumulatorName), ident(maker, variable), value),
)

const transformMapEntry: Macro = collector(twoVariables, emptyMap, (maker, entry) =>
  call(maker, insertName, ident(maker, accumulatorName), entry),
)

/** `a.optMap(x, f(x))`: optional.of(f(x)) where a has a value. */
function optionalMacro(name: string, wraps: boolean): Macro {
  return (maker, target, args) => {
    const [variable, body] = args as [Expr, Expr]
    if (variable.kind !== 'ident') {
      throw new MacroProblem(variable.offset, `${name}() variable name must be a simple identifier`)
    }
    const operand = target as Expr
    const value = memberCall(maker, 'value', copy(maker, operand))
    const bound = bind(maker, variable.name, [value, body])
    return call(
      maker,
      operators.conditional,
      memberCall(maker, 'hasValue', operand),
      wraps ? call(maker, 'optional.of', bound) : bound,
      call(maker, 'optional.none'),
    )
  }
}

const sortedName = '@__sortBy_input__'

const sortBy: Macro = (maker, target, args) => {
  const operand = target as Expr
  if (operand.kind === 'literal' || operand.kind === 'map' || operand.kind === 'struct') {
    throw new MacroProblem(
      operand.offset,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    )
  }
  const keys = mapMacro(maker, ident(maker, sortedName), args) as Expr
  const sorted = memberCall(maker, '@sortByAssociatedKeys', ident(maker, sortedName), keys)
  return bind(maker, sortedName, [operand, sorted])
}

/** `cel.bind(x, value, f(x))`. */
const bindMacro: Macro = (maker, target, [variable, ...rest]) => {
  if (target?.kind !== 'ident' || target.name !== 'cel') return undefined
  if (variable?.kind !== 'ident') {
    const offset = variable?.offset ?? maker.offset
    throw new MacroProblem(offset, 'cel.bind() variable names must be simple identifiers')
  }
  return bind(maker, variable.name, rest as [Expr, Expr])
}

export type Macros = ReadonlyMap<string, Macro>

/** The key of a macro in the table. */
export function macroKey(name: string, count: number, isMember: boolean): string {
  return `${name}:${count}:${isMember}`
}

const member = (name: string, count: number, macro: Macro): readonly [string, Macro] => [
  macroKey(name, count, true),
  macro,
]

export const standardMacros: Macros = new Map([
  [macroKey('has', 1, false), has],
  member('all', 2, quantifierMacro(true, readOne)),
  member('exists', 2, quantifierMacro(false, readOne)),
  member('exists_one', 2, existsOneMacro(readOne)),
  member('existsOne', 2, existsOneMacro(readOne)),
  member('map', 2, mapMacro),
  member('map', 3, mapMacro),
  member('filter', 2, filterMacro),
])

export const twoVariableMacros: Macros = new Map([
  member('all', 3, quantifierMacro(true, twoVariables)),
  member('exists', 3, quantifierMacro(false, twoVariables)),
  member('exists_one', 3, existsOneMacro(twoVariables)),
  member('existsOne', 3, existsOneMacro(twoVariables)),
  member('transformList', 3, collector(twoVariables, list, addItem)),
  member('transformList', 4, collector(twoVariables, list, addItem)),
  member('transformMap', 3, transformMap),
  member('transformMap', 4, transformMap),
  member('transformMapEntry', 3, transformMapEntry),
  member('transformMapEntry', 4, transformMapEntry),
])

export const optionalMacros: Macros = new Map([
  member('optMap', 2, optionalMacro('optMap', true)),
  member('optFlatMap', 2, optionalMacro('optFlatMap', false)),
])

export const bindMacros: Macros = new Map([member('bind', 3, bindMacro)])

export const listMacros: Macros = new Map([member('sortBy', 2, sortBy)])
