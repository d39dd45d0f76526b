/** Values as JSON: what an expression has made for an object. Values share their parts, so that a
 *  short expression can name a part very often: what comes out is bounded. */

import { JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { type CelError, failure } from '../values/errors.ts'
import {
  CelList,
  CelMap,
  Double,
  Duration,
  Optional,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from '../values/values.ts'
import { textOf } from './conversions.ts'
import { StructValue } from './patches.ts'

/** Values in one result, and characters of its texts and names: those of the largest body. */
const valuesMax = 200_000
const textMax = 3 * 1024 * 1024
const depthMax = 500

/** The JSON of a value. Times, spans, bytes and types are texts, as in protobuf's JSON, where
 *  `areTexts` says so; and have none otherwise. Throws a `CelError` if there is none. */
export function jsonOf(value: Value, form: JsonForm): JsonValue {
  return new Writer(form).json(value, 0)
}

interface JsonForm {
  readonly areTexts: boolean
  /** The value that null becomes; null if it is left out. */
  readonly nothing?: JsonValue
}

class Writer {
  readonly #areTexts: boolean
  readonly #nothing: JsonValue
  #values = valuesMax
  #text = textMax

  constructor({ areTexts, nothing = null }: JsonForm) {
    this.#areTexts = areTexts
    this.#nothing = nothing
  }

  json(value: Value, depth: number): JsonValue {
    this.#spend(1, 0)
    if (depth > depthMax) throw failure('the value is nested too deeply')
    if (typeof value === 'string') {
      this.#spend(0, value.length)
      return value
    }
    if (typeof value === 'boolean') return value
    if (value === null) return this.#nothing
    if (typeof value === 'number' || typeof value === 'bigint') return this.#int(BigInt(value))
    if (value instanceof Uint) return this.#int(value.value)
    if (value instanceof Double) return double(value.value)
    if (value instanceof CelList) return this.#list(value, depth)
    if (value instanceof CelMap) return this.#map(value, depth)
    if (value instanceof StructValue) return this.#struct(value, depth)
    if (value instanceof Optional) {
      if (value.value !== undefined) return this.json(value.value, depth + 1)
      if (this.#areTexts) throw failure('optional.none() dereference')
      return null
    }
    const text = this.#areTexts ? plainText(value) : undefined
    if (text !== undefined) return text
    if (!this.#areTexts) throw failure(`a value of type ${typeName(value)} has no JSON`)
    if (value instanceof TypeValue) throw unmarshalable("type conversion not supported for 'type'")
    const name = typeName(value).split('.').at(-1)
    throw unmarshalable(`type conversion error from '${name}' to '*structpb.Value'`)
  }

  #spend(values: number, text: number): void {
    this.#values -= values
    this.#text -= text
    if (this.#values < 0 || this.#text < 0) throw failure('the value is too large')
  }

  /** Protobuf's JSON has numbers that are exact as doubles. */
  #int(value: bigint): JsonValue {
    const isExact = BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))
    return this.#areTexts && !isExact ? String(value) : new JsonNumber(String(value))
  }

  #list(list: CelList, depth: number): JsonValue {
    const items: JsonValue[] = []
    for (let i = 0; i < list.size; i++) items.push(this.json(list.at(i), depth + 1))
    return items
  }

  #map(map: CelMap, depth: number): JsonObject {
    const object: JsonObject = new Map()
    for (const key of map.keys()) {
      if (typeof key !== 'string') {
        if (!this.#areTexts) throw failure('invalid return type: *dynamic.ObjectVal')
        throw unmarshalable(`unsupported type conversion from '${typeName(key)}' to string`)
      }
      this.#spend(0, key.length)
      object.set(key, this.json(map.get(key) ?? null, depth + 1))
    }
    return object
  }

  #struct({ fields }: StructValue, depth: number): JsonObject {
    const object: JsonObject = new Map()
    for (const [name, field] of fields) object.set(name, this.json(field, depth + 1))
    return object
  }
}

function unmarshalable(why: string): CelError {
  return failure(
    `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${why}`,
  )
}

function double(value: number): JsonValue {
  if (!Number.isFinite(value)) throw failure('the value has no JSON: it is not finite')
  return new JsonNumber(Object.is(value, -0) ? '-0' : String(value))
}

/** Protobuf's JSON of a scalar that JSON does not have. */
function plainText(value: Exclude<Value, string>): string | undefined {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Timestamp || value instanceof Duration) return textOf(value)
  return undefined
}
