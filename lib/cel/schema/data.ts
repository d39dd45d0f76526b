/** Values of objects in expressions, read as their schema describes them when they are asked
 *  for. */

import { isObject, type UntypedObject } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, textFromTree } from '@watchglass/go'
import { failure } from '../values/errors.ts'
import { intFrom } from '../values/numbers.ts'
import { parseDuration, parseTimestamp } from '../values/times.ts'
import {
  areEqual,
  CelList,
  CelMap,
  Double,
  Duration,
  itemsOf,
  type Value,
} from '../values/values.ts'
import { ofChars, spendWork } from '../values/work.ts'
import { isEmbedded, withTypeMeta } from './declared.ts'
import { escapedName, fieldNamed } from './names.ts'

/** The form in which values of one schema are read. */
export interface DataShape {
  readonly kind: string
  readonly format: string
  readonly isNullable: boolean
  /** The fields that expressions can name; undefined where it is a map or free. */
  readonly fields: ReadonlyMap<string, Field> | undefined
  /** The values of a map, or the items of a list. */
  readonly item: DataShape | undefined
  readonly listType: string
  readonly keys: readonly string[]
}

interface Field {
  readonly name: string
  readonly shape: DataShape
}

/** Schemas nest no deeper. */
const depthMax = 100

export function shapeOf(
  schema: unknown,
  isResource: boolean = isEmbedded(schema),
  depth = 0,
): DataShape {
  const given: UntypedObject = isObject(schema) && depth < depthMax ? schema : {}
  const raw = isResource ? withTypeMeta(given) : given
  const nested = (inner: unknown): DataShape => shapeOf(inner, isEmbedded(inner), depth + 1)
  const { properties, additionalProperties, items } = raw
  const isFree = raw['x-kubernetes-int-or-string'] === true
  const keys = raw['x-kubernetes-list-map-keys']
  const listType = raw['x-kubernetes-list-type']
  const item = isObject(items)
    ? nested(items)
    : isObject(additionalProperties)
      ? nested(additionalProperties)
      : undefined
  return {
    kind: isFree ? 'int-or-string' : typeof raw['type'] === 'string' ? raw['type'] : '',
    format: typeof raw['format'] === 'string' ? raw['format'] : '',
    isNullable: raw['nullable'] === true,
    fields: isObject(properties) ? fieldsOf(properties, nested) : undefined,
    item,
    listType: typeof listType === 'string' ? listType : '',
    keys: Array.isArray(keys) ? keys.filter(key => typeof key === 'string') : [],
  }
}

function fieldsOf(
  properties: UntypedObject,
  nested: (schema: unknown) => DataShape,
): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>()
  for (const [name, property] of Object.entries(properties)) {
    const escaped = escapedName(name)
    if (escaped !== undefined) fields.set(escaped, { name, shape: nested(property) })
  }
  return fields
}

/** The value of a tree that a schema describes. */
export function valueOf(json: JsonValue, shape: DataShape): Value {
  if (json === null) {
    if (shape.isNullable) return null
    throw failure('invalid data, got null for schema with nullable=false')
  }
  switch (shape.kind) {
    case 'object':
      if (json instanceof Map) return new DataMap(json, shape)
      throw failure('invalid data, expected a map for the provided schema with type=object')
    case 'array':
      if (!Array.isArray(json)) {
        throw failure('invalid data, expected an array for the provided schema with type=array')
      }
      return new DataList(json, shape)
    case 'string':
      return textValue(json, shape.format)
    case 'boolean':
      if (typeof json === 'boolean') return json
      throw failure(`invalid data, expected bool, got ${goTypeOf(json)}`)
    case 'number':
      if (json instanceof JsonNumber) return new Double(Number(json.source))
      throw failure(`invalid data, expected float, got ${goTypeOf(json)}`)
    case 'integer': {
      const value = json instanceof JsonNumber ? intIn(json) : undefined
      if (value !== undefined) return value
      throw failure(`invalid data, expected int, got ${goTypeOf(json)}`)
    }
    case 'int-or-string': {
      if (typeof json === 'string') return json
      const value = json instanceof JsonNumber ? intIn(json) : undefined
      if (value !== undefined) return value
      throw failure('invalid data, expected XIntOrString value to be either a string or integer')
    }
    default:
      return freeValue(json)
  }
}

function goTypeOf(json: JsonValue): string {
  if (typeof json === 'string') return 'string'
  if (typeof json === 'boolean') return 'bool'
  if (json instanceof Map) return 'map[string]interface {}'
  if (Array.isArray(json)) return '[]interface {}'
  return json instanceof JsonNumber && intIn(json) !== undefined ? 'int64' : 'float64'
}

/** No number of 64 bits is longer. */
const digitsMax = 20

/** The whole number that Go reads as one: without a fraction or an exponent. */
function intIn({ source }: JsonNumber): Value | undefined {
  if (source.length > digitsMax) {
    spendWork(ofChars(source.length))
    return undefined
  }
  if (!/^-?\d+$/.test(source)) return undefined
  const value = Number(source)
  if (Number.isSafeInteger(value)) return value + 0
  const exact = BigInt(source)
  return exact === BigInt.asIntN(64, exact) ? intFrom(exact) : undefined
}

function textValue(json: JsonValue, format: string): Value {
  if (typeof json !== 'string') {
    throw failure(`invalid data, expected string, got ${goTypeOf(json)}`)
  }
  switch (format) {
    case 'duration': {
      const nanos = parseDuration(json)
      if (nanos === undefined) throw failure(`Invalid duration ${json}`)
      return new Duration(nanos)
    }
    case 'date':
      return momentValue(`${json}T00:00:00Z`, `Invalid date formatted string ${json}`)
    case 'date-time':
      return momentValue(json, `Invalid date-time formatted string ${json}`)
    case 'byte':
      spendWork(ofChars(json.length))
      return Buffer.from(json, 'base64')
    default:
      return json
  }
}

function momentValue(text: string, problem: string): Value {
  const moment = parseTimestamp(text)
  if (moment === undefined) throw failure(problem)
  return moment
}

const freeShape: DataShape = shapeOf({})

/** The value of a tree that no schema describes. */
export function freeValue(json: JsonValue): Value {
  if (json instanceof Map) return new DataMap(json, freeShape)
  if (Array.isArray(json)) return new DataList(json, freeShape)
  if (json instanceof JsonNumber) return intIn(json) ?? new Double(Number(json.source))
  return json
}

function memberValue(json: JsonValue, shape: DataShape | undefined): Value {
  return shape === undefined ? freeValue(json) : valueOf(json, shape)
}

/** An object or a map. */
export class DataMap extends CelMap {
  readonly json: JsonObject
  readonly #shape: DataShape
  /** The object or list that was read last: rules go the same way again and again. */
  #lastKey: Value | undefined
  #lastValue: Value | undefined

  constructor(json: JsonObject, shape: DataShape) {
    super()
    this.json = json
    this.#shape = shape
  }

  get size(): number {
    return this.json.size
  }

  get(key: Value): Value | undefined {
    if (key === this.#lastKey) return this.#lastValue
    const value = this.#read(key)
    if (value instanceof DataMap || value instanceof DataList) {
      this.#lastKey = key
      this.#lastValue = value
    }
    return value
  }

  #read(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined
    const { fields, item, kind } = this.#shape
    if (fields !== undefined) {
      const field = fieldNamed(fields, key)
      const value = field === undefined ? undefined : this.json.get(field.name)
      if (field === undefined || value === undefined || value === null) return undefined
      return valueOf(value, field.shape)
    }
    // An object of which nothing is known shows nothing.
    if (kind === 'object' && item === undefined) return undefined
    const value = this.json.get(key)
    return value === undefined ? undefined : memberValue(value, item)
  }

  keys(): readonly Value[] {
    const { fields, item, kind } = this.#shape
    if (fields !== undefined) {
      spendWork(fields.size)
      return [...fields].filter(([, { name }]) => this.json.has(name)).map(([name]) => name)
    }
    if (kind === 'object' && item === undefined) return []
    spendWork(this.json.size)
    return [...this.json.keys()]
  }

  override equals(other: CelMap): boolean {
    if (other instanceof DataMap) {
      const known = new Set([...(this.#shape.fields?.values() ?? [])].map(({ name }) => name))
      const isMap = this.#shape.fields === undefined && this.#shape.item !== undefined
      spendWork(this.json.size)
      const unknown = isMap ? [] : [...this.json].filter(([name]) => !known.has(name))
      const areSame = unknown.every(([name, value]) => {
        const theirs = other.json.get(name)
        return theirs === undefined || textOf(theirs) === textOf(value)
      })
      if (!areSame) return false
    }
    return super.equals(other)
  }
}

function textOf(json: JsonValue): string {
  const text = textFromTree(json)
  spendWork(ofChars(text.length) * 4)
  return text
}

/** A list: in a set and in a list with keys, the order does not count. */
export class DataList extends CelList {
  readonly #json: readonly JsonValue[]
  readonly #shape: DataShape

  constructor(json: readonly JsonValue[], shape: DataShape) {
    super()
    this.#json = json
    this.#shape = shape
  }

  get size(): number {
    return this.#json.length
  }

  at(i: number): Value {
    return memberValue(this.#json[i] ?? null, this.#shape.item)
  }

  override equals(other: CelList): boolean {
    const { listType } = this.#shape
    if (listType !== 'set' && listType !== 'map') return super.equals(other)
    return areSetsEqual(itemsOf(this), itemsOf(other), keyBy(listType, this.#shape.keys))
  }

  override plus(other: CelList): CelList {
    const { listType, keys } = this.#shape
    if (listType !== 'set' && listType !== 'map') return super.plus(other)
    const key = keyBy(listType, keys)
    const items = new Map(itemsOf(this).map(item => [key(item), item]))
    for (const item of itemsOf(other)) {
      const own = key(item)
      if (listType === 'map' || !items.has(own)) items.set(own, item)
    }
    return new JoinedList([...items.values()], key)
  }
}

/** A set or a list with keys that an expression has made. */
class JoinedList extends CelList {
  readonly #items: readonly Value[]
  readonly #key: (item: Value) => string

  constructor(items: readonly Value[], key: (item: Value) => string) {
    super()
    this.#items = items
    this.#key = key
  }

  get size(): number {
    return this.#items.length
  }

  at(i: number): Value {
    return this.#items[i] as Value
  }

  override equals(other: CelList): boolean {
    return areSetsEqual(this.#items, itemsOf(other), this.#key)
  }
}

function keyBy(listType: string, keys: readonly string[]): (item: Value) => string {
  if (listType === 'set') return plainText
  return item =>
    item instanceof DataMap
      ? keys.map(key => textOf(item.json.get(key) ?? null)).join('\0')
      : item instanceof CelMap
        ? keys.map(key => plainText(item.get(escapedName(key) ?? key) ?? null)).join('\0')
        : plainText(item)
}

function plainText(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' && value !== null ? '?' : String(value)
}

function areSetsEqual(
  ours: readonly Value[],
  theirs: readonly Value[],
  key: (item: Value) => string,
): boolean {
  if (ours.length !== theirs.length) return false
  const byKey = new Map(ours.map(item => [key(item), item]))
  return theirs.every(item => {
    const own = byKey.get(key(item))
    return own !== undefined && areEqual(own, item)
  })
}
