/** A JSON document as Go's decoder of Kubernetes reads it into a typed object: unknown and
 *  repeated members are noted for strict decoding, a value of the wrong type refuses the
 *  document in Go's words, repeated members are merged. The result has only members of the type,
 *  each value in the form of its type; `completeTree` puts it in order. */

import {
  canonicalQuantity,
  goQuote,
  hasMicros,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  momentFromText,
  type ParsedDocument,
  textFromMilliseconds,
  timeProblem,
  zeroSeconds,
} from '@watchglass/go'
import { type MessageField, membersOf, type MessageType } from '@watchglass/codec'

/** The document cannot be read as the type; the message is Go's. */
export class DecodeError extends Error {}

/** Raw JSON inside an object: written as it was. */
export class RawObject extends Map<string, JsonValue> {
  readonly #sourceOf: () => string
  #source: string | undefined

  constructor(value: JsonObject, sourceOf: () => string) {
    super(value)
    this.#sourceOf = sourceOf
  }

  /** The text, made when it is asked for: of managed fields there may be a megabyte. */
  get source(): string {
    return (this.#source ??= this.#sourceOf())
  }
}

export interface Decoded {
  readonly object: JsonObject
  /** Errors of a strict decoder, in order: `unknown field "spec.foo"`. */
  readonly strictErrors: readonly string[]
  /** The paths of those that the type does not have. */
  readonly unknownFields: readonly string[]
}

/** The place of the decoder. */
interface Place {
  /** The Go name of the innermost struct. */
  readonly struct: string
  /** Names of fields from the root, as Go's type errors have them: without indexes and map keys. */
  readonly fields: string
  /** As strict errors have it: `spec.containers[0]`. */
  readonly path: string
}

/** The number of strict errors at which kube-apiserver stops. */
const strictErrorsMax = 100

/** Decodes the document's object; throws `DecodeError`. */
export function decodeTyped(document: ParsedDocument, type: MessageType): Decoded {
  const decoder = new TypedDecoder(document)
  const { value } = document
  if (!(value instanceof Map)) {
    if (value !== null) {
      throw new DecodeError(
        `json: cannot unmarshal ${kindOf(value)} into Go value of type ${goTypeOf(type.name)}`,
      )
    }
    return { object: new Map(), strictErrors: [], unknownFields: [] }
  }
  const object: JsonObject = new Map()
  decoder.struct(value, type, { into: object, place: { struct: '', fields: '', path: '' } })
  if (decoder.failure !== undefined) throw new DecodeError(decoder.failure)
  const { strictErrors, unknownFields } = decoder
  return { object, strictErrors: [...strictErrors], unknownFields }
}

interface Target {
  readonly into: JsonObject
  readonly place: Place
}

/** Lists that have names of their own in Go. */
const namedLists: Readonly<Record<string, string>> = {
  '[]v1.ValidationRule': 'v1.ValidationRules',
}

class TypedDecoder {
  readonly #document: ParsedDocument
  readonly strictErrors = new Set<string>()
  readonly unknownFields: string[] = []
  /** The first value of a wrong type; the rest is still read. */
  failure: string | undefined

  constructor(document: ParsedDocument) {
    this.#document = document
  }

  struct(object: JsonObject, type: MessageType, { into, place }: Target): void {
    const fields = membersOf(type)
    const seen = new Set<string>()
    const struct = type.name.slice(type.name.lastIndexOf('.') + 1)
    for (const [name, value] of this.#document.membersOf(object)) {
      const isTypeMeta = type.hasTypeMeta && (name === 'kind' || name === 'apiVersion')
      const field = fields.get(name)
      const path = place.path === '' ? name : `${place.path}.${name}`
      if (field === undefined && !isTypeMeta) {
        if (this.#note(`unknown field ${goQuote(path)}`)) this.unknownFields.push(path)
        continue
      }
      if (seen.has(name)) this.#note(`duplicate field ${goQuote(path)}`)
      seen.add(name)
      const inner = {
        struct,
        fields: place.fields === '' ? name : `${place.fields}.${name}`,
        path,
      }
      const read =
        field === undefined
          ? this.#scalar('string', value, inner)
          : this.#field(field, type, { value, known: into.get(name), place: inner })
      if (read !== undefined) into.set(name, read)
      else if (value === null && isCleared(field)) into.delete(name)
    }
  }

  #field(
    field: MessageField,
    type: MessageType,
    { value, known, place }: { value: JsonValue; known: JsonValue | undefined; place: Place },
  ): JsonValue | undefined {
    if (value === null && field.container !== 'single') return undefined
    switch (field.container) {
      case 'single':
        return this.#single(field.type, type, { value, known, place })
      case 'list':
        return this.#list(field, type, { value, place })
      case 'map':
        return this.#map(field, type, { value, known, place })
    }
  }

  #list(
    field: MessageField,
    type: MessageType,
    { value, place }: { value: JsonValue; place: Place },
  ): JsonValue[] | undefined {
    if (!Array.isArray(value)) return this.#wrongType(value, `[]${goTypeOf(field.type)}`, place)
    const list: JsonValue[] = []
    for (const [i, item] of value.entries()) {
      const at = { value: item, known: undefined, place: { ...place, path: `${place.path}[${i}]` } }
      list.push(this.#single(field.type, type, at) ?? zeroOf(field.type))
    }
    return list
  }

  #map(
    field: MessageField,
    type: MessageType,
    { value, known, place }: { value: JsonValue; known: JsonValue | undefined; place: Place },
  ): JsonObject | undefined {
    if (!(value instanceof Map)) {
      return this.#wrongType(value, `map[string]${goTypeOf(field.type)}`, place)
    }
    const map: JsonObject = known instanceof Map ? known : new Map()
    const seen = new Set<string>()
    for (const [name, item] of this.#document.membersOf(value)) {
      const path = `${place.path}.${name}`
      if (seen.has(name)) this.#note(`duplicate field ${goQuote(path)}`)
      seen.add(name)
      const inner = { ...place, path }
      const at = { value: item, known: undefined, place: inner }
      const read = this.#single(field.type, type, at)
      map.set(name, read ?? zeroOf(field.type))
    }
    return map
  }

  #single(
    name: string,
    { schema }: MessageType,
    { value, known, place }: { value: JsonValue; known: JsonValue | undefined; place: Place },
  ): JsonValue | undefined {
    if (!name.includes('.')) return this.#scalar(name, value, place)
    if (value === null) return undefined
    const type = schema.messageType(name)
    if (type.form !== 'object') return this.#special(value, type, place)
    if (!(value instanceof Map)) return this.#wrongType(value, goTypeOf(name), place)
    const into: JsonObject = known instanceof Map ? known : new Map()
    this.struct(value, type, { into, place })
    return into
  }

  /** The messages with a JSON form of their own: FORMAT.md, section 2. */
  #special(value: JsonValue, type: MessageType, place: Place): JsonValue | undefined {
    const [inner] = type.fields
    switch (type.form) {
      case 'wrap':
        if (!Array.isArray(value)) return this.#wrongType(value, goTypeOf(type.name), place)
        return value.map((item, i) => {
          const at = { ...place, path: `${place.path}[${i}]` }
          return this.#scalar('string', item, at) ?? ''
        })
      case 'orbool':
        if (typeof value === 'boolean') return value
        return value instanceof Map
          ? this.#props(value, type, place)
          : refuse('boolean or JSON schema expected')
      case 'orarray':
        if (!Array.isArray(value)) {
          return value instanceof Map ? this.#props(value, type, place) : undefined
        }
        return this.#propsList(value, type, place)
      case 'orstringarray':
        if (Array.isArray(value)) return value.map(item => (typeof item === 'string' ? item : ''))
        return value instanceof Map ? this.#props(value, type, place) : undefined
      case 'object':
        return inner === undefined ? undefined : value
    }
  }

  /** A schema inside one of the forms above: its own decoder does not know its path, and is not
   *  strict. */
  #props(value: JsonValue, { schema }: MessageType, place: Place): JsonValue {
    const props = schema.messageType('apiextensions/v1.JSONSchemaProps')
    const into: JsonObject = new Map()
    if (!(value instanceof Map)) return into
    const inner = new TypedDecoder(this.#document)
    inner.struct(value, props, { into, place: { ...place, struct: '', fields: '' } })
    if (inner.failure !== undefined) throw new DecodeError(inner.failure)
    return into
  }

  #propsList(values: JsonValue[], type: MessageType, place: Place): JsonValue[] {
    const list: JsonValue[] = []
    for (const value of values) list.push(this.#props(value, type, place))
    return list
  }

  #scalar(name: string, value: JsonValue, place: Place): JsonValue | undefined {
    if (rawTypes.has(name)) return this.#raw(value)
    if (value === null) return undefined
    const read = scalars[name]?.(value)
    if (read === undefined) return this.#wrongType(value, goTypeOf(name), place)
    if (!(read instanceof WrongNumber)) return read
    const text = value instanceof JsonNumber ? value.source : ''
    return this.#fail(`number ${text}`, goTypeOf(name), place)
  }

  #raw(value: JsonValue): JsonValue {
    return value instanceof Map ? new RawObject(value, () => this.#document.sourceOf(value)) : value
  }

  #wrongType(value: JsonValue, goType: string, place: Place): undefined {
    return this.#fail(kindOf(value), goType, place)
  }

  #fail(what: string, goType: string, { struct, fields }: Place): undefined {
    const where = struct === '' ? 'Go value' : `Go struct field ${struct}.${fields}`
    const type = namedLists[goType] ?? goType
    this.failure ??= `json: cannot unmarshal ${what} into ${where} of type ${type}`
    return undefined
  }

  /** True if it is new, and is told. */
  #note(error: string): boolean {
    const { size } = this.strictErrors
    return size < strictErrorsMax && this.strictErrors.add(error).size > size
  }
}

/** Checks a value of a type that has a decoder of its own, where it is known neither what it is in
 *  nor what is around it. */
export function readSpecial(name: string, value: JsonValue, prefix: string): void {
  if (rawTypes.has(name)) return
  try {
    const read = scalars[name]?.(value)
    if (read !== undefined && !(read instanceof WrongNumber)) return
    const isWrongNumber = read instanceof WrongNumber && value instanceof JsonNumber
    const what = isWrongNumber ? `number ${value.source}` : kindOf(value)
    refuse(`json: cannot unmarshal ${what} into Go value of type ${goTypeOf(name)}`)
  } catch (error) {
    if (error instanceof DecodeError) throw new DecodeError(prefix + error.message)
    throw error
  }
}

const rawTypes = new Set(['fieldsv1', 'rawextension', 'json', 'any'])

/** A later null removes what an earlier member of the same name has set, but not a plain value. */
function isCleared(field: MessageField | undefined): boolean {
  return field !== undefined && (field.isPointer || field.container !== 'single')
}

export function kindOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (value instanceof JsonNumber) return 'number'
  return Array.isArray(value) ? 'array' : 'object'
}

const goNames: Readonly<Record<string, string>> = {
  bytes: '[]uint8',
  quantity: 'string',
  time: 'string',
  microtime: 'string',
  intorstring: 'int32',
}

/** The name of a type in Go's errors: `v1.PodSpec`, `int32`. */
function goTypeOf(name: string): string {
  return goNames[name] ?? name.slice(name.indexOf('/') + 1)
}

function zeroOf(name: string): JsonValue {
  if (name === 'string' || name === 'bytes') return name === 'bytes' ? null : ''
  if (name === 'bool') return false
  if (name === 'int32' || name === 'int64' || name === 'float64') return new JsonNumber('0')
  if (name === 'quantity') return '0'
  return name.includes('.') ? new Map() : null
}

/** A number that the type does not hold. */
class WrongNumber {}
const wrongNumber = new WrongNumber()

/** Undefined: a value of another type. Other refusals are thrown at once, as Go's own decoders
 *  of these types do. */
type ReadScalar = (value: JsonValue) => JsonValue | WrongNumber | undefined

const scalars: Readonly<Record<string, ReadScalar>> = {
  string: value => (typeof value === 'string' ? value : undefined),
  bool: value => (typeof value === 'boolean' ? value : undefined),
  int32: value => integer(value, 32),
  int64: value => integer(value, 64),
  float64: value => (value instanceof JsonNumber ? value : undefined),
  bytes: readBytes,
  quantity: readQuantity,
  time: value => readTime(value, false),
  microtime: value => readTime(value, true),
  intorstring: value => (typeof value === 'string' ? value : integer(value, 32)),
}

/** The digits of the longest number of 64 bits. */
const digitsMax = 20

function integer(value: JsonValue, bits: 32 | 64): JsonValue | WrongNumber | undefined {
  if (!(value instanceof JsonNumber)) return undefined
  if (!/^-?\d+$/.test(value.source)) return wrongNumber
  // To read a megabyte of digits takes a tenth of a second.
  if (value.source.length > digitsMax) return wrongNumber
  const number = BigInt(value.source)
  return BigInt.asIntN(bits, number) === number ? new JsonNumber(String(number)) : wrongNumber
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

function readBytes(value: JsonValue): JsonValue | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.replace(/[\r\n]/g, '')
  if (!base64.test(text) || text.length % 4 !== 0) {
    const bad = /[^A-Za-z0-9+/]/.exec(text)?.index ?? Math.floor(text.length / 4) * 4
    throw new DecodeError(`illegal base64 data at input byte ${bad}`)
  }
  return Buffer.from(text, 'base64').toString('base64')
}

const quantityRefusal =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

function readQuantity(value: JsonValue): JsonValue {
  const text = typeof value === 'string' ? value : value instanceof JsonNumber ? value.source : ''
  return canonicalQuantity(text.trim()) ?? refuse(quantityRefusal)
}

function readTime(value: JsonValue, isMicro: boolean): JsonValue | undefined {
  if (typeof value !== 'string') return undefined
  const moment = isMicro && !hasMicros(value) ? undefined : momentFromText(value)
  if (moment === undefined) return refuse(timeProblem(value, isMicro))
  const { seconds, micros } = moment
  if (seconds === zeroSeconds && (micros === 0 || !isMicro)) return null
  const text = textFromMilliseconds(seconds * 1000)
  return isMicro ? text.replace('Z', `.${String(micros).padStart(6, '0')}Z`) : text
}

function refuse(message: string): never {
  throw new DecodeError(message)
}
