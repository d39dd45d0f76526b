/** Texts that many cells share: ages, shortened lists, labels, selectors. Each is the same as
 *  kube-apiserver's. */

import { giveUp } from '@watchglass/base'
import { textFromMilliseconds } from '@watchglass/go'
import { roughDuration } from './rough-duration.ts'

/** The texts of a server where there is nothing. */
export const none = '<none>'
export const unset = '<unset>'
export const unknown = '<unknown>'

/** The rough time since `time`: `18s`, `5m18s`, `3h1m`, `45d`, `2y10d`. Times are in
 *  milliseconds. */
export function since(time: number | null | undefined, now: number): string {
  if (time === null || time === undefined) return unknown
  return areExact ? textFromMilliseconds(time) : humanDuration(now - time)
}

/** Has cells made with times in place of ages, and durations in milliseconds: for who sorts and
 *  compares them. */
export function exactly<Result>(make: () => Result): Result {
  areExact = true
  try {
    return make()
  } finally {
    areExact = false
  }
}

/** One for all, like `agesHoldMs`. */
let areExact = false

/** Forgets what was noted: what is written from now on is noted anew. */
export function noteAges(): void {
  agesHoldMs = Infinity
}

/** For how long the durations that were written since `noteAges` stay as they are, if their ends
 *  move on with the clock. */
export function agesHold(): number {
  return agesHoldMs
}

/** One for all: rows are made one after the other, and their cells have no other way to say it. */
let agesHoldMs = Infinity

/** Every form but that of many years ends with a whole number of these, and changes into the next
 *  where they end, too. */
function unitOf(seconds: number): number {
  if (seconds < 600) return 1_000
  if (seconds < 8 * 3_600) return 60_000
  return seconds < 8 * 86_400 ? 3_600_000 : 86_400_000
}

/** A duration in milliseconds, roughly. */
export function humanDuration(milliseconds: number): string {
  if (areExact) return String(milliseconds)
  const unitMs = unitOf(milliseconds / 1000)
  // All times in the future are shown alike.
  const holdsMs = milliseconds < 0 ? 0 : unitMs - (milliseconds % unitMs)
  if (holdsMs < agesHoldMs) agesHoldMs = holdsMs
  return roughDuration(milliseconds)
}

/** The first three of a list, and how many more there are. */
export function shortList(items: readonly string[], empty: string): string {
  const shown = items.slice(0, 3).join(',')
  if (items.length > 3) return `${shown} + ${items.length - 3} more...`
  return shown === '' ? empty : shown
}

/** `a=b,c=d` */
export function labelsText(pairs: readonly (readonly [string, string])[]): string {
  const text = pairs
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',')
  return text === '' ? none : text
}

/** A pattern for label selectors. */
export const selectorFields = {
  matchLabels: 'pairs',
  matchExpressions: [{ key: 'text', operator: 'text', values: 'texts' }],
} as const

export interface PrintedSelector {
  readonly matchLabels: readonly (readonly [string, string])[]
  readonly matchExpressions: readonly PrintedExpression[]
}

export interface PrintedExpression {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** `a=b,c in (d,e),!f`, by key. `undefined` for a selector that is no selector. An absent one
 *  selects nothing, and says as little as an empty one, which selects everything. */
export function selectorText(selector: PrintedSelector | undefined): string | undefined {
  if (selector === undefined) return ''
  const { matchLabels, matchExpressions } = selector
  if (!matchLabels.every(([key, value]) => isLabel(key, [value]))) return undefined
  const parts = matchLabels.map(([key, value]) => ({ key, text: `${key}=${value}` }))
  for (const expression of matchExpressions) {
    const text = expressionText(expression)
    if (text === undefined) return undefined
    parts.push({ key: expression.key, text })
  }
  parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return parts.map(({ text }) => text).join(',')
}

const nameParts = /^(?:([^/]+)\/)?([A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)$/
const domain = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const labelValue = /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/

/** True if Go would take these for a label's key and values. */
function isLabel(key: string, values: readonly string[]): boolean {
  const match = nameParts.exec(key)
  if (match === null) return false
  const [, prefix] = match
  const isPrefix = prefix === undefined || (prefix.length <= 253 && domain.test(prefix))
  return isPrefix && values.every(value => labelValue.test(value))
}

function expressionText({ key, operator, values }: PrintedExpression): string | undefined {
  if (!isLabel(key, values)) return undefined
  switch (operator) {
    case 'In':
    case 'NotIn': {
      if (values.length === 0) return undefined
      return `${key} ${operator.toLowerCase()} (${[...values].sort().join(',')})`
    }
    case 'Exists':
      return values.length === 0 ? key : undefined
    case 'DoesNotExist':
      return values.length === 0 ? `!${key}` : undefined
    default:
      return undefined
  }
}

/** As `selectorText`, with `<none>` for an empty one. */
export function formatSelector(selector: PrintedSelector | undefined): string {
  const text = selectorText(selector)
  if (text === undefined) return '<error>'
  return text === '' ? none : text
}

/** A pattern for what is shown of containers. */
export const containerFields = { name: 'text', image: 'text' } as const

export interface PrintedContainer {
  readonly name: string
  readonly image: string
}

export function containerNames(containers: readonly PrintedContainer[]): string {
  return containers.map(({ name }) => name).join(',')
}

export function containerImages(containers: readonly PrintedContainer[]): string {
  return containers.map(({ image }) => image).join(',')
}

/** `True` or `False`, or `<unset>`. */
export function flagText(flag: boolean | undefined): string {
  if (flag === undefined) return unset
  return flag ? 'True' : 'False'
}

/** The value of a name in pairs. */
export function pairValue(
  pairs: readonly (readonly [string, string])[],
  name: string,
): string | undefined {
  return pairs.find(([other]) => other === name)?.[1]
}

/** An amount in a list of resources, which the API server rounds up to thousandths. Gives up where
 *  it would have to. */
export function amountText(pairs: readonly (readonly [string, string])[], name: string): string {
  const text = pairValue(pairs, name) ?? '0'
  if (/[nu]$|e-[69]$|\.[0-9]{4}/.test(text)) giveUp('a quantity is smaller than a thousandth')
  return text
}

/** Whether an annotation makes this object the default of its kind. */
export function isDefault(
  annotations: readonly (readonly [string, string])[],
  ...names: readonly string[]
): boolean {
  return names.some(name => pairValue(annotations, name) === 'true')
}

/** Characters below U+0080 in lower case, as are those of kinds and groups. */
export function lowerCase(text: string): string {
  return text.toLowerCase()
}
