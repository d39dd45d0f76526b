/** The functions of jq that are understood: each from its input and its arguments to its values. */

import {
  compare,
  isList,
  isMap,
  isTrue,
  itemsOf,
  JqError,
  type JqValue,
  keysOf,
  memberOf,
  typeOf,
} from './values.ts'

/** Texts and lists that an expression makes are no longer, and it compares no more pairs of items:
 *  doubling one thirty times takes a short expression. */
const sizeMax = 100_000
const pairsMax = 1_000_000

function bounded(size: number, max = sizeMax): void {
  if (size > max) throw new JqError(`more than ${String(max)} in one value`)
}

/** A function of values: it is called once for each combination of its arguments' values. */
export type ValueFunction = (input: JqValue, ...args: readonly JqValue[]) => JqValue

function textOf(value: JqValue): string {
  if (typeof value === 'string') return value
  throw new JqError(`expected a string but got: ${typeOf(value)}`)
}

function listOf(value: JqValue): readonly JqValue[] {
  if (isList(value)) return value
  throw new JqError(`expected an array but got: ${typeOf(value)}`)
}

function numberOf(value: JqValue): number {
  if (typeof value === 'number') return value
  throw new JqError(`expected a number but got: ${typeOf(value)}`)
}

export function lengthOf(value: JqValue): number {
  if (value === null) return 0
  if (typeof value === 'number') return Math.abs(value)
  if (typeof value === 'string') return Array.from(value).length
  if (isList(value)) return value.length
  if (isMap(value)) return Object.keys(value).length
  throw new JqError('boolean has no length')
}

function contains(value: JqValue, other: JqValue): boolean {
  if (typeof value === 'string' && typeof other === 'string') return value.includes(other)
  if (isList(value) && isList(other)) {
    bounded(value.length * other.length, pairsMax)
    return other.every(one => value.some(item => contains(item, one)))
  }
  if (isMap(value) && isMap(other)) {
    return Object.keys(other).every(
      name => Object.hasOwn(value, name) && contains(value[name] ?? null, other[name] ?? null),
    )
  }
  return compare(value, other) === 0
}

function has(value: JqValue, key: JqValue): boolean {
  if (isMap(value) && typeof key === 'string') return Object.hasOwn(value, key)
  if (isList(value) && typeof key === 'number') return key >= 0 && key < value.length
  throw new JqError(`cannot check whether ${typeOf(value)} has a key: ${typeOf(key)}`)
}

export function plus(a: JqValue, b: JqValue): JqValue {
  if (a === null) return b
  if (b === null) return a
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (typeof a === 'string' && typeof b === 'string') {
    bounded(a.length + b.length)
    return a + b
  }
  if (isList(a) && isList(b)) {
    bounded(a.length + b.length)
    return [...a, ...b]
  }
  if (isMap(a) && isMap(b)) return { ...a, ...b }
  throw new JqError(`cannot add: ${typeOf(a)} and ${typeOf(b)}`)
}

function minus(a: JqValue, b: JqValue): JqValue {
  if (isList(a) && isList(b)) {
    bounded(a.length * b.length, pairsMax)
    return a.filter(one => !b.some(other => compare(one, other) === 0))
  }
  return numberOf(a) - numberOf(b)
}

function divided(a: JqValue, b: JqValue): JqValue {
  if (typeof a === 'string' && typeof b === 'string') return a.split(b)
  const by = numberOf(b)
  if (by === 0) throw new JqError('cannot divide by zero')
  return numberOf(a) / by
}

function remainder(a: JqValue, b: JqValue): JqValue {
  const by = Math.trunc(numberOf(b))
  if (by === 0) throw new JqError('cannot divide by zero')
  return Math.trunc(numberOf(a)) % by
}

function toNumber(value: JqValue): number {
  if (typeof value === 'number') return value
  const number = Number(textOf(value))
  if (textOf(value).trim() === '' || Number.isNaN(number)) {
    throw new JqError(`invalid number: ${JSON.stringify(value)}`)
  }
  return number
}

function toText(value: JqValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Operators, as functions of their two sides. */
export const operators: Readonly<Record<string, (a: JqValue, b: JqValue) => JqValue>> = {
  '+': plus,
  '-': minus,
  '*': (a, b) => numberOf(a) * numberOf(b),
  '/': divided,
  '%': remainder,
  '==': (a, b) => compare(a, b) === 0,
  '!=': (a, b) => compare(a, b) !== 0,
  '<': (a, b) => compare(a, b) < 0,
  '<=': (a, b) => compare(a, b) <= 0,
  '>': (a, b) => compare(a, b) > 0,
  '>=': (a, b) => compare(a, b) >= 0,
}

/** By name and number of arguments. */
export const functions: ReadonlyMap<string, ValueFunction> = new Map<string, ValueFunction>([
  ['not/0', value => !isTrue(value)],
  ['true/0', () => true],
  ['false/0', () => false],
  ['null/0', () => null],
  ['length/0', lengthOf],
  ['keys/0', value => (isList(value) ? [...value.keys()] : keysOf(mapOf(value)))],
  ['type/0', typeOf],
  ['add/0', value => [...itemsOf(value)].reduce<JqValue>(plus, null)],
  ['any/0', value => listOf(value).some(isTrue)],
  ['all/0', value => listOf(value).every(isTrue)],
  ['first/0', value => memberOf(value, 0)],
  ['last/0', value => memberOf(value, -1)],
  ['reverse/0', value => listOf(value).toReversed()],
  ['sort/0', value => listOf(value).toSorted(compare)],
  ['unique/0', value => uniqueOf(listOf(value).toSorted(compare))],
  ['min/0', value => listOf(value).toSorted(compare)[0] ?? null],
  ['max/0', value => listOf(value).toSorted(compare).at(-1) ?? null],
  ['floor/0', value => Math.floor(numberOf(value))],
  ['ceil/0', value => Math.ceil(numberOf(value))],
  ['round/0', value => Math.round(numberOf(value))],
  ['tostring/0', toText],
  ['tojson/0', value => JSON.stringify(value)],
  ['tonumber/0', toNumber],
  ['ascii_downcase/0', value => textOf(value).replace(/[A-Z]/g, one => one.toLowerCase())],
  ['ascii_upcase/0', value => textOf(value).replace(/[a-z]/g, one => one.toUpperCase())],
  [
    'to_entries/0',
    value => keysOf(mapOf(value)).map(key => ({ key, value: memberOf(value, key) })),
  ],
  ['has/1', has],
  ['contains/1', contains],
  ['inside/1', (value, other) => contains(other ?? null, value)],
  ['startswith/1', (value, start) => textOf(value).startsWith(textOf(start ?? null))],
  ['endswith/1', (value, end) => textOf(value).endsWith(textOf(end ?? null))],
  ['ltrimstr/1', (value, start) => trimmed(value, start, 'start')],
  ['rtrimstr/1', (value, end) => trimmed(value, end, 'end')],
  ['split/1', (value, by) => textOf(value).split(textOf(by ?? null))],
  [
    'join/1',
    (value, by) =>
      listOf(value)
        .map(joined)
        .join(textOf(by ?? null)),
  ],
  ['index/1', (value, of) => placeOf(textOf(value), textOf(of ?? null))],
])

function mapOf(value: JqValue): { readonly [key: string]: JqValue } {
  if (isMap(value)) return value
  throw new JqError(`${typeOf(value)} has no keys`)
}

function uniqueOf(sorted: readonly JqValue[]): JqValue {
  return sorted.filter((one, i) => i === 0 || compare(one, sorted[i - 1] ?? null) !== 0)
}

function joined(value: JqValue): string {
  return value === null ? '' : toText(value)
}

function placeOf(text: string, part: string): JqValue {
  const at = text.indexOf(part)
  return at === -1 ? null : at
}

function trimmed(value: JqValue, part: JqValue | undefined, side: 'start' | 'end'): JqValue {
  if (typeof value !== 'string' || typeof part !== 'string' || part === '') return value
  if (side === 'start') return value.startsWith(part) ? value.slice(part.length) : value
  return value.endsWith(part) ? value.slice(0, -part.length) : value
}
