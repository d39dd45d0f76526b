/** Arithmetic of int64, uint64 and double, with Go's errors where a result does not fit. */

import { failure, noOverload, type CelError } from './errors.ts'
import { Double, Duration, type Int, numberOf, typeName, Uint, type Value } from './values.ts'

const int64Max = 2n ** 63n - 1n
const int64Min = -(2n ** 63n)
const uint64Max = 2n ** 64n - 1n

const intOverflow = (): CelError => failure('integer overflow')
const uintOverflow = (): CelError => failure('unsigned integer overflow')

/** The int of a bigint; throws when it has more than 64 bits. */
export function intFrom(value: bigint): Int {
  if (value > int64Max || value < int64Min) throw intOverflow()
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

export function uintFrom(value: bigint): Uint {
  if (value > uint64Max || value < 0n) throw uintOverflow()
  return new Uint(value)
}

export function isInt(value: Value): value is Int {
  return typeof value === 'number' || typeof value === 'bigint'
}

export function addInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum)) return sum
  }
  return intFrom(BigInt(a) + BigInt(b))
}

export function subtractInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    if (Number.isSafeInteger(difference)) return difference
  }
  return intFrom(BigInt(a) - BigInt(b))
}

function multiplyInts(a: Int, b: Int): Int {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    if (Number.isSafeInteger(product)) return product + 0
  }
  return intFrom(BigInt(a) * BigInt(b))
}

function divideInts(a: Int, b: Int): Int {
  if (b === 0) throw failure('division by zero')
  if (typeof a === 'number' && typeof b === 'number') return (a - (a % b)) / b + 0
  return intFrom(BigInt(a) / BigInt(b))
}

function remainderOfInts(a: Int, b: Int): Int {
  if (b === 0) throw failure('modulus by zero')
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  if (BigInt(a) === int64Min && b === -1) throw intOverflow()
  return intFrom(BigInt(a) % BigInt(b))
}

/** Types whose values cel-go asks for every operator that their type does not have. */
const receivers = ['google.protobuf.Duration', 'google.protobuf.Timestamp', 'string']

/** The error of an operator whose first value it does not take, or not with the others: it is named
 *  where the type of the value has no such operator at all. */
export function noOperator(name: string, value: Value, types: readonly string[]): CelError {
  const type = typeName(value)
  return noOverload(types.includes(type) || receivers.includes(type) ? '' : name)
}

/** The negative of a number or a span of time. */
export function negate(value: Value): Value {
  if (isInt(value)) return typeof value === 'number' ? 0 - value : intFrom(-value)
  if (value instanceof Double) return new Double(-value.value)
  if (value instanceof Duration) return new Duration(-value.nanos)
  throw noOperator('-_', value, ['bool'])
}

/** An operation on two numbers of one type. */
interface Operation {
  readonly name: string
  /** Types with the operator beside int and uint. */
  readonly types: readonly string[]
  readonly ints: (a: Int, b: Int) => Int
  readonly uints: (a: bigint, b: bigint) => bigint
  readonly doubles: ((a: number, b: number) => number) | undefined
}

function operation({
  name,
  types,
  ints,
  uints,
  doubles,
}: Operation): (a: Value, b: Value) => Value {
  return (a, b) => {
    if (isInt(a)) {
      if (isInt(b)) return ints(a, b)
    } else if (a instanceof Double) {
      if (b instanceof Double && doubles !== undefined) return new Double(doubles(a.value, b.value))
    } else if (a instanceof Uint && b instanceof Uint) return uintFrom(uints(a.value, b.value))
    throw noOperator(name, a, ['int', 'uint', ...types])
  }
}

export const addNumbers: (a: Value, b: Value) => Value = operation({
  name: '_+_',
  types: ['bytes', 'double', 'list'],
  ints: addInts,
  uints: (a, b) => a + b,
  doubles: (a, b) => a + b,
})

export const subtractNumbers: (a: Value, b: Value) => Value = operation({
  name: '_-_',
  types: ['double'],
  ints: subtractInts,
  uints: (a, b) => a - b,
  doubles: (a, b) => a - b,
})

export const multiply: (a: Value, b: Value) => Value = operation({
  name: '_*_',
  types: ['double'],
  ints: multiplyInts,
  uints: (a, b) => a * b,
  doubles: (a, b) => a * b,
})

export const divide: (a: Value, b: Value) => Value = operation({
  name: '_/_',
  types: ['double'],
  ints: divideInts,
  uints: (a, b) => {
    if (b === 0n) throw failure('division by zero')
    return a / b
  },
  doubles: (a, b) => a / b,
})

export const remainder: (a: Value, b: Value) => Value = operation({
  name: '_%_',
  types: [],
  ints: remainderOfInts,
  uints: (a, b) => {
    if (b === 0n) throw failure('modulus by zero')
    return a % b
  },
  doubles: undefined,
})

/** The order of two numbers of any types: with a double, that of doubles. */
export function compareNumbers(a: Int | Uint | Double, b: Int | Uint | Double): number {
  const isDouble = a instanceof Double || b instanceof Double
  const [x, y] = [numberOf(a), numberOf(b)]
  const [left, right] = isDouble ? [Number(x), Number(y)] : [x, y]
  if (left < right) return -1
  if (left > right) return 1
  if (Number.isNaN(left) || Number.isNaN(right)) throw failure('NaN values cannot be ordered')
  return 0
}

/** An int out of a double, which is cut; throws when it does not fit. */
export function intFromDouble(value: number): Int {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw intOverflow()
  return intFrom(BigInt(Math.trunc(value)))
}

export function uintFromDouble(value: number): Uint {
  if (!(value >= 0 && value < 2 ** 64)) throw uintOverflow()
  return new Uint(BigInt(Math.trunc(value)))
}
