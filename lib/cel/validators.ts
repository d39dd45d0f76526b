/** Checks of an expression after its types are known: constants that can never be read, and lists
 *  and maps of several types. */

import { type FunctionCall, type Expr, type List, type MapLiteral, partsOf } from './ast.ts'
import { clausesOf } from './functions/formatted.ts'
import type { Problems } from './problems.ts'
import { type CelType, firstParam, isOptional } from './types.ts'
import { parseDuration, parseTimestamp } from './values/times.ts'
import { patternProblem } from '@watchglass/go'

export function validate(expr: Expr, problems: Problems): void {
  const calls: FunctionCall[] = []
  const literals: (List | MapLiteral)[] = []
  walk(expr, false, (node, isInFormat) => {
    if (node.kind === 'call') calls.push(node)
    else if ((node.kind === 'list' || node.kind === 'map') && !isInFormat) literals.push(node)
  })
  for (const call of calls) checkFormat(call, problems)
  checkConstants(calls, problems)
  for (const literal of literals) if (literal.kind === 'list') checkList(literal, problems)
  for (const literal of literals) if (literal.kind === 'map') checkMap(literal, problems)
}

function walk(
  expr: Expr,
  isInFormat: boolean,
  see: (expr: Expr, isInFormat: boolean) => void,
): void {
  see(expr, isInFormat)
  const isFormat = isInFormat || (expr.kind === 'call' && expr.name === 'format')
  for (const part of partsOf(expr)) walk(part, isFormat, see)
}

const checks: readonly (readonly [
  name: string,
  arg: number,
  isRight: (text: string) => boolean,
])[] = [
  ['duration', 0, text => parseDuration(text) !== undefined],
  ['timestamp', 0, text => isTimestamp(text)],
  ['matches', 0, text => patternProblem(text) === undefined],
]

function isTimestamp(text: string): boolean {
  try {
    return parseTimestamp(text) !== undefined
  } catch {
    return false
  }
}

function checkConstants(calls: readonly FunctionCall[], problems: Problems): void {
  for (const [name, i, isRight] of checks) {
    for (const call of calls) {
      const arg = call.name === name ? call.args[i] : undefined
      if (arg?.kind !== 'literal' || typeof arg.value !== 'string') continue
      if (!isRight(arg.value)) problems.add(arg.offset, `invalid ${name} argument`)
    }
  }
}

/** True if the types are the same; type variables that are open are dyn. */
function areAlike(a: CelType, b: CelType): boolean {
  return a.isExactly(b)
}

function mismatch(expr: Expr, expected: CelType, actual: CelType, problems: Problems): void {
  problems.add(expr.offset, `expected type '${expected.text}' but found '${actual.text}'`)
}

function checkList({ items, optionals }: List, problems: Problems): void {
  let first: CelType | undefined
  for (const [i, item] of items.entries()) {
    const given = item.type as CelType
    const type = optionals.has(i) && isOptional(given) ? firstParam(given) : given
    if (first === undefined) first = type
    else if (!areAlike(first, type)) {
      mismatch(item, first, type, problems)
      return
    }
  }
}

function checkMap({ entries }: MapLiteral, problems: Problems): void {
  const [first] = entries
  if (first === undefined) return
  const valueType = ({ value, isOptional: isMaybe }: (typeof entries)[number]): CelType => {
    const type = value.type as CelType
    return isMaybe && isOptional(type) ? firstParam(type) : type
  }
  const [keys, values] = [first.key.type as CelType, valueType(first)]
  for (const entry of entries.slice(1)) {
    const key = entry.key.type as CelType
    if (!areAlike(keys, key)) mismatch(entry.key, keys, key, problems)
    const value = valueType(entry)
    if (!areAlike(values, value)) mismatch(entry.value, values, value, problems)
  }
}

const wanted: Readonly<Record<string, readonly [kinds: readonly string[], problem: string]>> = {
  d: [['int', 'uint'], 'decimal clause can only be used on integers'],
  f: [['double', 'string'], 'fixed-point clause can only be used on doubles'],
  e: [['double', 'string'], 'scientific clause can only be used on doubles'],
  b: [['int', 'uint', 'bool'], 'only integers and bools can be formatted as binary'],
  o: [['int', 'uint'], 'octal clause can only be used on integers'],
  s: [
    [
      'bool',
      'bytes',
      'double',
      'duration',
      'int',
      'list',
      'map',
      'null',
      'string',
      'timestamp',
      'type',
      'uint',
    ],
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  ],
  x: [
    ['int', 'uint', 'string', 'bytes'],
    'only integers, byte buffers, and strings can be formatted as hex',
  ],
}

/** A format with its arguments: each clause needs one of its types. */
function checkFormat(call: FunctionCall, problems: Problems): void {
  const { target, args } = call
  const [list] = args
  const isFormat = call.name === 'format' && call.overloads.includes('string_format')
  if (!isFormat || target?.kind !== 'literal' || typeof target.value !== 'string') return
  if (list?.kind !== 'list') return
  try {
    let next = 0
    for (const clause of clausesOf(target.value)) {
      if ('text' in clause) continue
      const arg = list.items[next]
      if (arg === undefined) {
        problems.add(call.offset, `index ${next} out of range`)
        return
      }
      next++
      const [kinds, problem] = wanted[clause.verb.toLowerCase()] ?? []
      const type = arg.type as CelType
      if (kinds === undefined || type.kind === 'dyn' || kinds.includes(type.kind)) continue
      problems.add(arg.offset, `error during formatting: ${problem}, was given ${type.name}`)
      return
    }
    if (list.items.length > next) {
      problems.add(
        call.offset,
        `too many arguments supplied to string.format (expected ${next}, got ${list.items.length})`,
      )
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    problems.add(call.offset, error.message)
  }
}
