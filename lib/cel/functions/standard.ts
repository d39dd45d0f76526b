/** The operators and functions that every CEL has. */

import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import {
  addNumbers,
  divide,
  isInt,
  multiply,
  negate,
  noOperator,
  remainder,
  subtractNumbers,
} from '../values/numbers.ts'
import { compare, hasOrder } from '../values/order.ts'
import { between, durationFrom, later } from '../values/times.ts'
import {
  areEqual,
  CelList,
  CelMap,
  Double,
  Duration,
  Opaque,
  Optional,
  sizeOf,
  Timestamp,
  typeName,
  Uint,
  type Value,
} from '../values/values.ts'
import { spendWork, ofItems } from '../values/work.ts'
import { textOf } from './conversions.ts'

/** To make a character of a text. Texts that one run makes have some ten million together. */
const madeWork = 1 / 16

export function joinedBy(texts: readonly string[], separator: string): string {
  const length = texts.reduce((sum, text) => sum + text.length + separator.length, 0)
  spendWork(length * madeWork)
  return texts.join(separator)
}

export function add(a: Value, b: Value): Value {
  if (typeof a === 'string' && typeof b === 'string') {
    spendWork((a.length + b.length) * madeWork)
    return a + b
  }
  if (a instanceof CelList && b instanceof CelList) return a.plus(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.concat([a, b])
  if (a instanceof Duration) {
    if (b instanceof Duration) return durationFrom(a.nanos + b.nanos)
    if (b instanceof Timestamp) return later(b, a.nanos)
  }
  if (a instanceof Timestamp && b instanceof Duration) return later(a, b.nanos)
  return addNumbers(a, b)
}

function subtract(a: Value, b: Value): Value {
  if (a instanceof Duration && b instanceof Duration) return durationFrom(a.nanos - b.nanos)
  if (a instanceof Timestamp) {
    if (b instanceof Duration) return later(a, -b.nanos)
    if (b instanceof Timestamp) return between(a, b)
  }
  return subtractNumbers(a, b)
}

/** The place of an item; an index may be a double or a uint without a fraction. */
function placeOf(index: Value): number {
  if (isInt(index)) return Number(index)
  if (index instanceof Uint) return Number(index.value)
  if (index instanceof Double && Number.isInteger(index.value)) return index.value
  if (index instanceof Double) throw failure(`unsupported index value ${shown(index)} in list`)
  throw failure(`unsupported index type '${typeName(index)}' in list`)
}

/** A value as an error shows it. */
export function shown(value: Value): string {
  return textOf(value) ?? '{}'
}

/** The item or member that must be there. */
export function itemAt(of: Value, key: Value): Value {
  if (of instanceof CelList) {
    const place = placeOf(key)
    if (place >= 0 && place < of.size) return of.at(place)
    throw failure(`index out of bounds: ${place}`)
  }
  if (of instanceof CelMap) {
    const found = of.get(key)
    if (found !== undefined) return found
    throw failure(`no such key: ${shown(key)}`)
  }
  if (of instanceof Optional) {
    return of.value === undefined ? of : new Optional(foundAt(of.value, key))
  }
  throw failure(`no such key: ${shown(key)}`)
}

/** The item or member that may be there. */
export function foundAt(of: Value, key: Value): Value | undefined {
  if (of instanceof CelMap) return of.get(key)
  if (of instanceof CelList) {
    const place = placeOf(key)
    return place >= 0 && place < of.size ? of.at(place) : undefined
  }
  if (of instanceof Optional) return of.value === undefined ? undefined : foundAt(of.value, key)
  return undefined
}

/** Values of libraries are compared with values of their own type only. */
function equal(a: Value, b: Value): boolean {
  if (a instanceof Opaque && b !== null && typeName(a) !== typeName(b)) throw noOverload()
  return areEqual(a, b)
}

export function isIn(item: Value, of: Value): boolean {
  if (of instanceof CelMap) return of.get(item) !== undefined
  if (!(of instanceof CelList)) throw noOverload()
  for (let i = 0; i < of.size; i++) {
    spendWork(ofItems(1))
    if (areEqual(of.at(i), item)) return true
  }
  return false
}

function size(value: Value): Value {
  if (
    typeof value === 'string' ||
    value instanceof CelList ||
    value instanceof CelMap ||
    value instanceof Uint8Array
  ) {
    return sizeOf(value)
  }
  throw noOperator('size', value, [])
}

/** A function of two texts. */
function ofTexts(test: (text: string, other: string) => boolean): (a: Value, b: Value) => Value {
  return (a, b) => {
    if (typeof a !== 'string' || typeof b !== 'string') throw noOverload()
    return test(a, b)
  }
}

const comparable = ['bool', 'int64', 'uint64', 'double', 'string', 'bytes', 'timestamp', 'duration']
const typeOfId = (id: string): string => id.replace('64', '')
const mixed = [
  ['int64', 'double'],
  ['int64', 'uint64'],
  ['uint64', 'double'],
  ['uint64', 'int64'],
  ['double', 'int64'],
  ['double', 'uint64'],
] as const

function ordering(name: string, test: (order: number) => boolean): (a: Value, b: Value) => boolean {
  return (a, b) => {
    if (!hasOrder(a)) throw noOverload(name)
    return test(compare(a, b))
  }
}

function comparison(name: string): readonly string[] {
  return [
    ...comparable.map(id => `${name}_${id}: (${typeOfId(id)}, ${typeOfId(id)}) bool`),
    ...mixed.map(([a, b]) => `${name}_${a}_${b}: (${typeOfId(a)}, ${typeOfId(b)}) bool`),
  ]
}

/** Forms of an operator for two values of one type. */
function same(name: string, ids: readonly string[]): readonly string[] {
  return ids.map(id => {
    const type = typeOfId(id)
    return `${name}_${id}: (${type}, ${type}) ${type}`
  })
}

const sizes = [
  ['bytes', 'bytes'],
  ['list', 'list(A)'],
  ['map', 'map(A, B)'],
  ['string', 'string'],
] as const

export const standard: Library = {
  signatures: {
    '_?_:_': ['conditional: (bool, A, A) A'],
    '_&&_': ['logical_and: (bool, bool) bool'],
    '_||_': ['logical_or: (bool, bool) bool'],
    '!_': ['logical_not: (bool) bool'],
    '@not_strictly_false': ['not_strictly_false: (bool) bool'],
    '_==_': ['equals: (A, A) bool'],
    '_!=_': ['not_equals: (A, A) bool'],
    '_+_': [
      ...same('add', ['bytes', 'double']),
      'add_duration_duration: (duration, duration) duration',
      'add_duration_timestamp: (duration, timestamp) timestamp',
      'add_timestamp_duration: (timestamp, duration) timestamp',
      ...same('add', ['int64']),
      'add_list: (list(A), list(A)) list(A)',
      ...same('add', ['string', 'uint64']),
    ],
    '_/_': same('divide', ['double', 'int64', 'uint64']),
    '_%_': same('modulo', ['int64', 'uint64']),
    '_*_': same('multiply', ['double', 'int64', 'uint64']),
    '-_': ['negate_double: (double) double', 'negate_int64: (int) int'],
    '_-_': [
      ...same('subtract', ['double']),
      'subtract_duration_duration: (duration, duration) duration',
      ...same('subtract', ['int64']),
      'subtract_timestamp_duration: (timestamp, duration) timestamp',
      'subtract_timestamp_timestamp: (timestamp, timestamp) duration',
      ...same('subtract', ['uint64']),
    ],
    '_<_': comparison('less'),
    '_<=_': comparison('less_equals'),
    '_>_': comparison('greater'),
    '_>=_': comparison('greater_equals'),
    '_[_]': ['index_list: (list(A), int) A', 'index_map: (map(A, B), A) B'],
    '@in': ['in_list: (A, list(A)) bool', 'in_map: (A, map(A, B)) bool'],
    size: sizes.flatMap(([id, type]) => [
      `size_${id}: (${type}) int`,
      `${id}_size: ${type}.() int`,
    ]),
    contains: ['contains_string: string.(string) bool'],
    endsWith: ['ends_with_string: string.(string) bool'],
    startsWith: ['starts_with_string: string.(string) bool'],
    matches: ['matches: (string, string) bool', 'matches_string: string.(string) bool'],
  },
  implementations: {
    '_==_': equal,
    '_!=_': (a: Value, b: Value) => !equal(a, b),
    '_+_': add,
    '_-_': subtract,
    '_*_': multiply,
    '_/_': divide,
    '_%_': remainder,
    '-_': negate,
    '!_': (value: Value) => {
      if (typeof value !== 'boolean') throw noOverload()
      return !value
    },
    '_<_': ordering('_<_', order => order < 0),
    '_<=_': ordering('_<=_', order => order <= 0),
    '_>_': ordering('_>_', order => order > 0),
    '_>=_': ordering('_>=_', order => order >= 0),
    '_[_]': itemAt,
    '@in': isIn,
    size,
    contains: ofTexts((text, other) => text.includes(other)),
    endsWith: ofTexts((text, other) => text.endsWith(other)),
    startsWith: ofTexts((text, other) => text.startsWith(other)),
  },
}
