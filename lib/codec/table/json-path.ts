/** The JSONPath of Kubernetes, as columns of custom resources use it: members, elements, slices,
 *  unions and filters. What depends on the order of Go's maps (`*` and `..` on objects) is not
 *  read: no two answers of the upstream need to agree there. */

import { JsonNumber, type JsonValue } from '../json/tree.ts'

/** One step from values to values. */
export type Step =
  | { readonly type: 'member'; readonly name: string }
  | { readonly type: 'slice'; readonly slice: Slice }
  | { readonly type: 'filter'; readonly filter: Filter }
  | { readonly type: 'union'; readonly paths: readonly (readonly Step[])[] }

/** As in `[from:to:step]`; a lone index is a slice of one. */
interface Slice {
  readonly from: number
  readonly to: number | undefined
  readonly step: number
  readonly isIndex: boolean
}

/** `?(@.a == "b")`, or `?(@.a)` for what exists. */
interface Filter {
  readonly left: readonly Step[]
  readonly operator: '==' | '!=' | '<' | '<=' | '>' | '>=' | 'exists'
  readonly right: string | number | boolean | undefined
}

/** The steps of a path such as `.spec.tags[0]`; `undefined` for one that is not supported here. */
export function parseJsonPath(path: string): readonly Step[] | undefined {
  const steps: Step[] = []
  let at = path.startsWith('$') ? 1 : 0
  while (at < path.length) {
    const rest = path.slice(at)
    const member = /^\.((?:\\.|[^ .,[\]$@{}\\])+)/.exec(rest)
    const bracket = /^\[(\?\((?:"[^"]*"|'[^']*'|[^)"'])*\)|(?:'[^']*'|[^\]'])*)\]/.exec(rest)
    const step = member === null ? bracketStep(bracket?.[1]) : memberStep(member[1] ?? '')
    if (step === undefined) return undefined
    steps.push(...step)
    at += (member ?? bracket)?.[0].length ?? 1
  }
  return steps
}

function memberStep(text: string): Step[] | undefined {
  return text === '*' ? undefined : [{ type: 'member', name: text.replaceAll('\\', '') }]
}

function bracketStep(text: string | undefined): readonly Step[] | undefined {
  if (text === undefined) return undefined
  if (text.startsWith('?(')) return filterStep(text.slice(2, -1))
  const parts = text.split(',')
  if (parts.length > 1) {
    const paths = parts.map(part => bracketStep(part.trim()))
    return paths.every(path => path !== undefined) ? [{ type: 'union', paths }] : undefined
  }
  const name = /^'([^']*)'$/.exec(text)?.[1]
  if (name !== undefined) return parseJsonPath(`.${name}`)
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text === '*' ? ':' : text)
  if (match === null) return undefined
  const [, from = '', to, step] = match
  const isIndex = to === undefined
  const slice: Slice = {
    from: from === '' ? 0 : Number(from),
    to: isIndex ? Number(from) + 1 : to === ':' ? undefined : Number(to.slice(1)),
    step: step === undefined || step === ':' ? 1 : Number(step.slice(1)),
    isIndex,
  }
  return [{ type: 'slice', slice }]
}

function filterStep(text: string): Step[] | undefined {
  const match = /^([^!<>=]+)([!<>=]+)(.+)$/s.exec(text)
  const [, leftText = text, operator = 'exists', rightText = ''] = match ?? []
  const left = parseJsonPath(leftText.trim().replace(/^@/, ''))
  const known = ['==', '!=', '<', '<=', '>', '>=', 'exists'] as const
  const found = known.find(name => name === operator)
  if (left === undefined || found === undefined) return undefined
  if (found === 'exists') {
    return [{ type: 'filter', filter: { left, operator: found, right: undefined } }]
  }
  const right = literalFromText(rightText.trim())
  return right === undefined
    ? undefined
    : [{ type: 'filter', filter: { left, operator: found, right } }]
}

function literalFromText(text: string): string | number | boolean | undefined {
  const quoted = /^(?:"([^"\\]*)"|'([^'\\]*)')$/.exec(text)
  if (quoted !== null) return quoted[1] ?? quoted[2]
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}

/** A union may name an element many times, and so may the next one: thirty of them would make a
 *  thousand million values. */
const valuesMax = 1_000_000

/** The values at the end of a path, in order; `undefined` where the upstream fails, which shows as
 *  an empty cell. */
export function evaluateJsonPath(
  steps: readonly Step[],
  values: readonly JsonValue[],
): readonly JsonValue[] | undefined {
  let current: readonly JsonValue[] = values
  for (const step of steps) {
    const next: JsonValue[] = []
    for (const value of current) {
      const found = applyStep(step, value)
      if (found === undefined) return undefined
      for (const one of found) next.push(one)
      if (next.length > valuesMax) return undefined
    }
    current = next
  }
  return current
}

function applyStep(step: Step, value: JsonValue): readonly JsonValue[] | undefined {
  switch (step.type) {
    case 'member': {
      const member = value instanceof Map ? value.get(step.name) : undefined
      return member === undefined ? [] : [member]
    }
    case 'slice':
      return isList(value) ? sliceOf(step.slice, value) : value === null ? [] : undefined
    case 'filter':
      return isList(value) ? value.filter(item => isKept(step.filter, item)) : undefined
    case 'union': {
      const found = step.paths.map(path => evaluateJsonPath(path, [value]))
      return found.every(part => part !== undefined) ? found.flat() : undefined
    }
  }
}

function isList(value: JsonValue): value is JsonValue[] {
  return Array.isArray(value)
}

/** An index out of bounds is an error, an empty slice is not. */
function sliceOf(slice: Slice, list: readonly JsonValue[]): readonly JsonValue[] | undefined {
  const { length } = list
  const from = slice.from < 0 ? slice.from + length : slice.from
  let to = slice.to ?? length
  if (to < 0 || (to === 0 && slice.isIndex)) to += length
  if (from === to) return []
  if (from < 0 || from >= length || to < 0 || to > length || from > to) return undefined
  if (slice.step <= 0) return undefined
  return list.slice(from, to).filter((_, i) => i % slice.step === 0)
}

function isKept({ left, operator, right }: Filter, item: JsonValue): boolean {
  const found = evaluateJsonPath(left, [item])
  if (operator === 'exists') return found !== undefined && found.length > 0
  const [value] = found ?? []
  if (value === undefined || right === undefined) return false
  const order = compare(value, right)
  if (order === undefined) return operator === '!='
  switch (operator) {
    case '==':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Negative, zero or positive; `undefined` for values of two kinds. */
function compare(value: JsonValue, right: string | number | boolean): number | undefined {
  if (typeof value === 'string') {
    if (typeof right !== 'string') return undefined
    return value < right ? -1 : value > right ? 1 : 0
  }
  if (typeof value === 'boolean') {
    if (typeof right !== 'boolean') return undefined
    return value === right ? 0 : 1
  }
  return typeof right === 'number' && value instanceof JsonNumber
    ? Number(value.text) - right
    : undefined
}
