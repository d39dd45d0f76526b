/** The values at the end of a JSONPath, as client-go's FindResults finds them: members, elements,
 *  slices, unions and filters. Objects of Go have no order, so what stands first in one is any of
 *  its members; here it is the first that is stored. */

import { compareUtf8, goParseInt, JsonNumber, type JsonValue } from '@watchglass/go'
import type { JsonPathFilter, ParsedJsonPath, JsonPathSlice, JsonPathStep } from './json-path.ts'
import type { RowBudget } from './row-budget.ts'

/** A value of an object; or an integer of a template or a byte of a text, which objects lack. */
export type PathValue = JsonValue | bigint

/** The end of a search: some errors leave values behind, which count as something that exists. It
 *  is returned, since a filter may meet one in each of its items. */
class Failed {
  readonly values: readonly PathValue[]

  constructor(values: readonly PathValue[]) {
    this.values = values
  }
}

type Found = readonly PathValue[] | Failed

/** The values of the first action of a template; `undefined` where the upstream fails, which shows
 *  as an empty cell. `values` are those that the first action begins with. Gives up where the
 *  budget ends: a union may name an element many times, and so may the next one, so that thirty of
 *  them would make a thousand million values. */
export function evaluateJsonPath(
  actions: readonly ParsedJsonPath[],
  values: readonly JsonValue[],
  budget: RowBudget,
): readonly PathValue[] | undefined {
  const search = new Search(budget)
  const found = actions.map(action => search.along(action, values))
  const [first] = found
  return first instanceof Failed || found.some(one => one instanceof Failed) ? undefined : first
}

/** Every value that is looked at, or made, is paid for. */
class Search {
  readonly #budget: RowBudget

  constructor(budget: RowBudget) {
    this.#budget = budget
  }

  along(path: ParsedJsonPath, values: readonly PathValue[]): Found {
    let current = values
    for (const step of path) {
      this.#budget.spend(1 + current.length)
      const next = this.#follow(step, current)
      if (next instanceof Failed) return next
      current = next
    }
    return current
  }

  #follow(step: JsonPathStep, values: readonly PathValue[]): Found {
    switch (step.type) {
      case 'word':
        return new Failed(values)
      case 'text':
        return [step.text]
      case 'constant':
        return values.map(() => step.value)
      case 'filter':
        return this.#filtered(step.filter, values)
      case 'union':
        return this.#united(step.paths, values)
      case 'slice':
        return this.#sliced(step.slice, values)
      case 'member':
      case 'members':
      case 'descent':
        return this.#inside(step, values)
    }
  }

  #sliced(slice: JsonPathSlice, values: readonly PathValue[]): Found {
    const found: PathValue[] = []
    for (const list of values) {
      if (list === null) continue
      const part = sliceOf(slice, list)
      if (part === undefined) return new Failed(values)
      this.#budget.spend(part.length)
      // Upstream leaves the lists after an empty slice out.
      if (part.length === 0) break
      for (const item of part) found.push(item)
    }
    return found
  }

  #united(paths: readonly ParsedJsonPath[], values: readonly PathValue[]): Found {
    const found: PathValue[] = []
    for (const path of paths) {
      const part = this.along(path, values)
      if (part instanceof Failed) return new Failed(values)
      this.#budget.spend(part.length)
      for (const value of part) found.push(value)
    }
    return found
  }

  #filtered({ left, operator, right }: JsonPathFilter, values: readonly PathValue[]): Found {
    const kept: PathValue[] = []
    for (const list of values) {
      if (!Array.isArray(list)) return new Failed(values)
      for (const item of list) {
        this.#budget.spend(1)
        const before = this.along(left, [item])
        if (operator === undefined) {
          if ((before instanceof Failed ? before.values : before).length > 0) kept.push(item)
          continue
        }
        if (before instanceof Failed || before.length > 1) return new Failed(values)
        const [a] = before
        if (a === undefined) continue
        const after = this.along(right, [item])
        if (after instanceof Failed || after.length > 1) return new Failed(values)
        const [b] = after
        if (b === undefined) continue
        this.#budget.spend(comparedSteps(a, b))
        const passes = compare(a, operator, b)
        if (passes === undefined) return new Failed(kept)
        if (passes) kept.push(item)
      }
    }
    return kept
  }

  #inside(step: JsonPathStep, values: readonly PathValue[]): PathValue[] {
    const found: PathValue[] = []
    for (const value of values) {
      if (step.type === 'member') {
        const member = value instanceof Map ? value.get(step.name) : undefined
        if (member !== undefined) found.push(member)
      } else if (step.type === 'descent') this.#descend(value, found)
      else {
        this.#budget.spend(sizeOf(value))
        for (const member of membersOf(value)) found.push(member)
      }
    }
    return found
  }

  /** All that has something in it, from the outside to the inside. */
  #descend(value: PathValue, found: PathValue[]): void {
    if (typeof value === 'string' && value !== '') found.push(value)
    const size = value instanceof Map || Array.isArray(value) ? sizeOf(value) : 0
    if (size === 0) return
    this.#budget.spend(size)
    found.push(value)
    for (const member of membersOf(value)) this.#descend(member, found)
  }
}

function membersOf(value: PathValue): Iterable<PathValue> {
  if (typeof value === 'string') return Array.from(Buffer.from(value), BigInt)
  return value instanceof Map || Array.isArray(value) ? value.values() : []
}

/** The number of its members; each byte of a text is made one, which takes longer. */
function sizeOf(value: PathValue): number {
  if (typeof value === 'string') return 4 * value.length
  if (value instanceof Map) return value.size
  return Array.isArray(value) ? value.length : 0
}

/** Texts and numbers are compared to their ends. */
function comparedSteps(a: PathValue, b: PathValue): number {
  return (lengthOf(a) + lengthOf(b)) / charactersPerStep
}

function lengthOf(value: PathValue): number {
  if (typeof value === 'string') return value.length
  return value instanceof JsonNumber ? value.source.length : 1
}

/** The characters that are compared in the time of a step. */
const charactersPerStep = 16

/** An index out of bounds is an error (undefined), an empty slice is not. */
function sliceOf(slice: JsonPathSlice, list: PathValue): readonly JsonValue[] | undefined {
  if (!Array.isArray(list)) return undefined
  const { length } = list
  const from = slice.from < 0 ? slice.from + length : slice.from
  let to = slice.to ?? length
  if (to < 0 || (to === 0 && slice.isIndex)) to += length
  if (from === to) return []
  const { step = 1 } = slice
  if (from < 0 || from >= length || to > length || from > to || step <= 0) return undefined
  const part: JsonValue[] = []
  for (let i = from; i < to; i += step) part.push(list[i] as JsonValue)
  return part
}

/** The signs of the orders in which an operator holds. */
const signs = new Map(
  Object.entries({ '==': '0', '!=': '-+', '<': '-', '<=': '-0', '>': '+', '>=': '+0' }),
)

/** Undefined for values of two kinds, or of one without an order, and for an unknown operator. */
function compare(a: PathValue, operator: string, b: PathValue): boolean | undefined {
  const order = orderOf(a, b)
  if (order === undefined || (typeof a === 'boolean' && /[<>]/.test(operator))) return undefined
  return signs.get(operator)?.includes(order < 0 ? '-' : order > 0 ? '+' : '0')
}

function orderOf(a: PathValue, b: PathValue): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return a === b ? 0 : 1
  const [left, right] = [pathNumber(a), pathNumber(b)]
  if (left === undefined || typeof left !== typeof right) return undefined
  return left === right ? 0 : left < (right as number) ? -1 : 1
}

/** An integer or a float, which are two kinds. */
function pathNumber(value: PathValue): bigint | number | undefined {
  if (typeof value === 'bigint') return value
  if (!(value instanceof JsonNumber)) return undefined
  return goParseInt(value.source).value ?? Number(value.source)
}
