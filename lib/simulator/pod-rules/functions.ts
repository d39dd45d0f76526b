/** The functions that kwok adds to CEL: times, chance, and quantities that are reckoned with. */

import type { UntypedObject } from '@watchglass/base'
import { canonicalQuantity, quantityNanos } from '@watchglass/go'
import {
  CelMap,
  Double,
  failure,
  isInt,
  type Library,
  noOverload,
  Quantity,
  standard,
  Timestamp,
  Uint,
  type Value,
} from '@watchglass/cel'

export { Quantity }

const quantity = 'kubernetes.Quantity'
const milli = 1_000_000n

export class KwokFunctions {
  #nowMs = 0
  #draw: () => number = () => 0

  /** Does something at a moment. */
  at<T>(nowMs: number, draw: () => number, run: () => T): T {
    this.#nowMs = nowMs
    this.#draw = draw
    return run()
  }

  readonly library: Library = {
    signatures: {
      Now: ['kwok_now: () timestamp'],
      Rand: ['kwok_rand: () double'],
      Quantity: [`kwok_quantity: (string) ${quantity}`],
      SinceSecond: ['kwok_since_second: (dyn) double', 'kwok_since_second_method: dyn.() double'],
      UnixSecond: [
        'kwok_unix_second: (timestamp) double',
        'kwok_unix_second_method: timestamp.() double',
      ],
      '_+_': [`kwok_add: (${quantity}, ${quantity}) ${quantity}`],
      '_-_': [`kwok_subtract: (${quantity}, ${quantity}) ${quantity}`],
      '_*_': scaled('multiply'),
      '_/_': scaled('divide'),
      '-_': [`kwok_negate: (${quantity}) ${quantity}`],
      '_<_': [`kwok_less: (${quantity}, ${quantity}) bool`],
      '_<=_': [`kwok_less_equals: (${quantity}, ${quantity}) bool`],
      '_>_': [`kwok_greater: (${quantity}, ${quantity}) bool`],
      '_>=_': [`kwok_greater_equals: (${quantity}, ${quantity}) bool`],
    },
    implementations: {
      Now: () => timestampOf(this.#nowMs),
      Rand: () => new Double(this.#draw()),
      Quantity: (text: Value) => quantityFrom(text),
      SinceSecond: (object: Value) => new Double((this.#nowMs - createdMs(object)) / 1000),
      UnixSecond: (time: Value) => new Double(unixSecond(time)),
      '_+_': ofQuantities('_+_', (a, b) => new Quantity(a + b)),
      '_-_': ofQuantities('_-_', (a, b) => new Quantity(a - b)),
      '_*_': ofQuantityAndNumber('_*_', { whole: (a, by) => a * by, real: (a, by) => a * by }),
      '_/_': ofQuantityAndNumber('_/_', {
        whole: (a, by) => {
          if (by === 0n) throw failure('division by zero')
          return a / by
        },
        real: (a, by) => a / by,
      }),
      '-_': (value: Value) =>
        value instanceof Quantity ? new Quantity(-value.nanos) : usual('-_', value),
      '_<_': ofQuantities('_<_', (a, b) => a < b),
      '_<=_': ofQuantities('_<=_', (a, b) => a <= b),
      '_>_': ofQuantities('_>_', (a, b) => a > b),
      '_>=_': ofQuantities('_>=_', (a, b) => a >= b),
      '@in': (item: Value, of: Value) =>
        of instanceof CelResourceList ? of.has(item) : usual('@in', item, of),
    },
  }
}

function scaled(name: string): readonly string[] {
  return ['int', 'uint', 'double'].map(
    type => `kwok_${name}_${type}: (${quantity}, ${type}) ${quantity}`,
  )
}

/** The operator for values that are no quantities. */
function usual(operator: string, ...values: readonly Value[]): Value {
  const implementation = standard.implementations[operator]
  if (implementation === undefined) throw noOverload(operator)
  return implementation(...values)
}

function ofQuantities(
  operator: string,
  compute: (a: bigint, b: bigint) => Value,
): (a: Value, b: Value) => Value {
  return (a, b) => {
    if (!(a instanceof Quantity)) return usual(operator, a, b)
    if (!(b instanceof Quantity)) throw noOverload(operator)
    return compute(a.nanos, b.nanos)
  }
}

/** kwok reckons in thousandths. */
function ofQuantityAndNumber(
  operator: string,
  compute: {
    readonly whole: (millis: bigint, by: bigint) => bigint
    readonly real: (value: number, by: number) => number
  },
): (a: Value, b: Value) => Value {
  return (a, b) => {
    if (!(a instanceof Quantity)) return usual(operator, a, b)
    if (isInt(b) || b instanceof Uint) {
      const by = b instanceof Uint ? b.value : BigInt(b)
      return new Quantity(compute.whole(a.nanos / milli, by) * milli)
    }
    if (!(b instanceof Double)) throw noOverload(operator)
    const value = compute.real(Number(a.nanos) / 1e9, b.value)
    if (!Number.isFinite(value)) throw failure('the quantity is no number')
    return new Quantity(BigInt(Math.trunc(value * 1e3)) * milli)
  }
}

export function quantityFrom(text: Value): Quantity {
  if (typeof text !== 'string') throw noOverload('Quantity')
  if (canonicalQuantity(text) === undefined) throw failure(`${JSON.stringify(text)} is no quantity`)
  return new Quantity(quantityNanos(text))
}

function timestampOf(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000)
  return new Timestamp(seconds, Math.round((ms - seconds * 1000) * 1e6))
}

function createdMs(object: Value): number {
  const metadata = object instanceof CelMap ? object.get('metadata') : undefined
  const created = metadata instanceof CelMap ? metadata.get('creationTimestamp') : undefined
  return unixSecond(created ?? null) * 1000
}

function unixSecond(time: Value): number {
  if (!(time instanceof Timestamp)) throw noOverload('UnixSecond')
  return time.seconds + time.nanos / 1e9
}

/** Amounts by resource: one that is not there is zero where it is asked for, and `in` tells. */
export class CelResourceList extends CelMap {
  readonly #amounts: UntypedObject

  constructor(amounts: UntypedObject) {
    super()
    this.#amounts = amounts
  }

  get size(): number {
    return this.keys().length
  }

  has(key: Value): boolean {
    return typeof key === 'string' && Object.hasOwn(this.#amounts, key)
  }

  get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined
    return this.has(key) ? quantityFrom(String(this.#amounts[key])) : new Quantity(0n)
  }

  keys(): readonly Value[] {
    return Object.keys(this.#amounts)
  }
}
