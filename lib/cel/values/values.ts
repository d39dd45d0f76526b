/** Values while an expression runs.
 *
 *  An int is a number where it is exact as one, and a bigint beyond 2^53: then most arithmetic is
 *  that of the processor, and all of it is exact. Numbers with a fraction are objects, because an
 *  expression can ask for the type of a value that it knows nothing of. */

import { failure } from './errors.ts'
import { ofChars, ofItems, spendWork } from './work.ts'

export type Int = number | bigint

export type Value =
  | boolean
  | null
  | string
  | Int
  | Uint
  | Double
  | Uint8Array
  | Timestamp
  | Duration
  | CelList
  | CelMap
  | Optional
  | TypeValue
  | Opaque

export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

export class Double {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** A moment: seconds since 1970, and nanoseconds from 0 to 999,999,999. */
export class Timestamp {
  readonly seconds: number
  readonly nanos: number

  constructor(seconds: number, nanos: number) {
    this.seconds = seconds
    this.nanos = nanos
  }
}

/** A span of time in nanoseconds, which an int64 holds. */
export class Duration {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A value that may be missing. */
export class Optional {
  readonly value: Value | undefined

  constructor(value: Value | undefined) {
    this.value = value
  }
}

export const none: Optional = new Optional(undefined)

/** The name of a type, as `type(1)` gives it. */
export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A value of a library, as an address or a quantity. */
export abstract class Opaque {
  abstract readonly typeName: string
  /** As `size()` of cel-go's values says, which costs are counted by. */
  get size(): number {
    return 1
  }
  /** As `string()` gives it. */
  get text(): string {
    return this.typeName
  }
  abstract equals(other: Opaque): boolean
}

/** To compare an item with another one. */
const itemWork = 1
/** To compare the member of a map with another one. */
const memberWork = 4

export abstract class CelList {
  abstract readonly size: number
  /** The item at a place that there is. */
  abstract at(i: number): Value

  equals(other: CelList): boolean {
    if (this.size !== other.size) return false
    for (let i = 0; i < this.size; i++) {
      spendWork(itemWork)
      if (!areEqual(this.at(i), other.at(i))) return false
    }
    return true
  }

  plus(other: CelList): CelList {
    return new ArrayList(itemsOf(this).concat(itemsOf(other)))
  }
}

export class ArrayList extends CelList {
  readonly items: Value[]

  constructor(items: Value[]) {
    super()
    this.items = items
  }

  get size(): number {
    return this.items.length
  }

  at(i: number): Value {
    return this.items[i] as Value
  }
}

export function itemsOf(list: CelList): readonly Value[] {
  if (list instanceof ArrayList) {
    spendWork(ofItems(list.size))
    return list.items
  }
  spendWork(list.size)
  const items: Value[] = []
  for (let i = 0; i < list.size; i++) items.push(list.at(i))
  return items
}

export abstract class CelMap {
  abstract readonly size: number
  abstract get(key: Value): Value | undefined
  abstract keys(): readonly Value[]

  equals(other: CelMap): boolean {
    if (this.size !== other.size) return false
    return this.keys().every(key => {
      spendWork(memberWork)
      const [ours, theirs] = [this.get(key), other.get(key)]
      return ours !== undefined && theirs !== undefined && areEqual(ours, theirs)
    })
  }
}

/** A map with keys of any type that a key may have. */
export class EntryMap extends CelMap {
  readonly #entries = new Map<Int | string | boolean, readonly [key: Value, value: Value]>()

  get size(): number {
    return this.#entries.size
  }

  get(key: Value): Value | undefined {
    const plain = plainKey(key)
    return plain === undefined ? undefined : this.#entries.get(plain)?.[1]
  }

  /** Returns false where there is such a key. */
  add(key: Value, value: Value): boolean {
    const plain = plainKey(key)
    if (plain === undefined) throw failure(`unsupported key type: ${typeName(key)}`)
    if (this.#entries.has(plain)) return false
    this.#entries.set(plain, [key, value])
    return true
  }

  set(key: Value, value: Value): void {
    const plain = plainKey(key)
    if (plain === undefined) throw failure(`unsupported key type: ${typeName(key)}`)
    this.#entries.set(plain, [key, value])
  }

  keys(): readonly Value[] {
    spendWork(ofItems(this.size))
    return Array.from(this.#entries.values(), ([key]) => key)
  }
}

/** The key that a value is found by: numbers of all types are equal by their value. */
function plainKey(key: Value): Int | string | boolean | undefined {
  if (typeof key === 'string' || typeof key === 'number') return key
  if (typeof key === 'bigint' || typeof key === 'boolean') return key
  if (key instanceof Uint) return smallest(key.value)
  if (key instanceof Double && Number.isInteger(key.value)) return smallest(BigInt(key.value))
  return undefined
}

function smallest(value: bigint): Int {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The name of a value's type at run time. */
export function typeName(value: Value): string {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' || typeof value === 'bigint') return 'int'
  return objectTypeName(value)
}

function objectTypeName(value: Exclude<Value, boolean | string | Int>): string {
  if (value === null) return 'null_type'
  if (value instanceof CelMap) return 'map'
  if (value instanceof CelList) return 'list'
  if (value instanceof Double) return 'double'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof Optional) return 'optional_type'
  if (value instanceof TypeValue) return 'type'
  return value.typeName
}

/** The name of the type that a value has in cel-go. */
export function goTypeName(value: Value): string {
  const name = typeName(value)
  return goTypeNames[name] ?? name
}

const goTypeNames: Readonly<Record<string, string>> = {
  bool: 'types.Bool',
  bytes: 'types.Bytes',
  double: 'types.Double',
  'google.protobuf.Duration': 'types.Duration',
  'google.protobuf.Timestamp': 'types.Timestamp',
  int: 'types.Int',
  'kubernetes.NamedFormat': '*cel.Format',
  'kubernetes.Quantity': 'cel.Quantity',
  'kubernetes.Semver': 'cel.Semver',
  'kubernetes.URL': 'cel.URL',
  'net.CIDR': 'cel.CIDR',
  'net.IP': 'cel.IP',
  null_type: 'types.Null',
  optional_type: '*types.Optional',
  string: 'types.String',
  type: '*types.Type',
  uint: 'types.Uint',
}

/** True if two values are equal: numbers by their value whatever their types are, and values of
 *  other types never are. */
export function areEqual(a: Value, b: Value): boolean {
  if (a === b) return true
  const kind = typeof a
  if (kind === 'string' || kind === 'boolean' || a === null || b === null) return false
  if (isNumeric(a)) return isNumeric(b) && areNumbersEqual(a, b)
  if (a instanceof CelList) return b instanceof CelList && a.equals(b)
  if (a instanceof CelMap) return b instanceof CelMap && a.equals(b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof Timestamp) {
    return b instanceof Timestamp && a.seconds === b.seconds && a.nanos === b.nanos
  }
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof Optional) return b instanceof Optional && areOptionalsEqual(a, b)
  if (a instanceof Opaque) {
    return b instanceof Opaque && a.typeName === b.typeName && a.equals(b)
  }
  return false
}

/** Numbers are compared with doubles as doubles. */
function areNumbersEqual(a: Int | Uint | Double, b: Int | Uint | Double): boolean {
  const [left, right] = [numberOf(a), numberOf(b)]
  if (a instanceof Double || b instanceof Double) return Number(left) === Number(right)
  return smallest(BigInt(left)) === smallest(BigInt(right))
}

function areOptionalsEqual(a: Optional, b: Optional): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return areEqual(a.value, b.value)
}

export function isNumeric(value: Value): value is Int | Uint | Double {
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    value instanceof Double ||
    value instanceof Uint
  )
}

/** The number in a number of any type: JavaScript compares numbers with bigints exactly. */
export function numberOf(value: Int | Uint | Double): Int {
  return typeof value === 'object' ? value.value : value
}

/** The length of a text in code points. */
export function textSize(text: string): number {
  spendWork(ofChars(text.length))
  let { length } = text
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code < 0xdc00 && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1)
      if (next >= 0xdc00 && next < 0xe000) {
        length--
        i++
      }
    }
  }
  return length
}

/** The size that the cost of a function is counted by. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string') return textSize(value)
  if (typeof value !== 'object' || value === null) return 1
  if (value instanceof CelList || value instanceof CelMap || value instanceof Opaque) {
    return value.size
  }
  if (value instanceof Uint8Array) return value.length
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value)
  return 1
}
