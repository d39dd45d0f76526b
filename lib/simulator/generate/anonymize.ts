/** Makes a recording that may leave its company: names, labels, values and texts become pseudonyms,
 *  and what is secret becomes other bytes. Kinds, fields, enumerations, numbers, sizes and times
 *  stay, so that the recording still loads as the cluster that it was. */

import { type Key, keyFromText, NotExact, textFromKey } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, parseTree, textInOrder } from '@watchglass/go'
import {
  type MessageField,
  hasEnvelope,
  jsonFromProtobuf,
  type MessageType,
  protobufFromJson,
  type Schema,
} from '@watchglass/codec'
import { type Digest, Pseudonyms, wordsOfKubernetes } from './pseudonyms.ts'

/** Maps whose members clients name as they like, where no schema says that they are maps. */
const freeMaps: ReadonlySet<string> = new Set([
  'fieldsV1',
  'labels',
  'matchLabels',
  'nodeSelector',
  'parameters',
  'selector',
  'volumeAttributes',
])

/** Maps whose members are the fields of custom resources, which stay. */
const fieldMaps: ReadonlySet<string> = new Set([
  'definitions',
  'dependencies',
  'patternProperties',
  'properties',
])

/** Lists of such fields in the schemas of definitions. */
const fieldLists: ReadonlySet<string> = new Set(['required', 'x-kubernetes-list-map-keys'])

/** A name of a field. Others, as `example.com/gpu`, are of somebody, also where nothing says that
 *  they are in a map. */
const fieldName = /^[$\w-]+$/

/** Maps whose values may be secrets. */
const secretMaps: ReadonlySet<string> = new Set(['annotations', 'binaryData', 'data', 'stringData'])

/** Texts that are written for people, or given to programs. */
const secretTexts: ReadonlySet<string> = new Set([
  'args',
  'command',
  'description',
  'message',
  'note',
  'token',
  'value',
])

/** The members whose text of one capitalised word is a value of an enumeration, also in custom
 *  resources. */
const enumerated: ReadonlySet<string> = new Set(['phase', 'reason', 'status', 'type'])

/** The share of an object's texts that stays. */
type Care = 'names' | 'free' | 'secret'

export class Anonymizer {
  readonly #schema: Schema
  readonly #pseudonyms: Pseudonyms

  constructor(schema: Schema, digest: Digest) {
    this.#schema = schema
    this.#pseudonyms = new Pseudonyms(digest, wordsOfKubernetes(schema))
  }

  key(key: Key): Key {
    return keyFromText(this.#pseudonyms.text(textFromKey(key)))
  }

  /** The value under its pseudonyms; why not, for one that cannot be read: it must not be
   *  recorded. */
  value(bytes: Uint8Array): Uint8Array | NotExact {
    if (!hasEnvelope(bytes, 0, bytes.length)) return this.#json(bytes)
    const json = jsonFromProtobuf(bytes, 0, bytes.length, this.#schema)
    if (json instanceof NotExact) return json
    const renamed = this.#json(json)
    if (renamed instanceof NotExact) return renamed
    return protobufFromJson(renamed, 0, renamed.length, this.#schema)
  }

  #json(bytes: Uint8Array): Uint8Array | NotExact {
    // The revision that was compacted, and other numbers by themselves.
    if (/^\d{1,16}$/.test(Buffer.from(bytes.subarray(0, 17)).toString())) return bytes
    const tree = parseTree(bytes, 0, bytes.length)
    if (!(tree instanceof Map)) return new NotExact('value is neither protobuf nor a JSON object')
    const apiVersion = tree.get('apiVersion')
    const kind = tree.get('kind')
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
      return new NotExact('value is no Kubernetes object')
    }
    const found = this.#schema.findKind(apiVersion, kind)
    const place: Place = {
      name: '',
      care: 'names',
      isBuiltIn: found !== undefined,
      field: undefined,
    }
    return Buffer.from(textInOrder(this.#object(tree, place, found?.type)))
  }

  #value(value: JsonValue, place: Place): JsonValue {
    if (typeof value === 'string') return this.#text(value, place)
    if (Array.isArray(value)) return value.map(item => this.#value(item, place))
    if (value === null || typeof value !== 'object' || value instanceof JsonNumber) return value
    const { name, care, field } = place
    const isFree = field === undefined ? freeMaps.has(name) : hasFreeNames(name, field)
    const inner = secretMaps.has(name) ? 'secret' : isFree ? 'free' : care
    if (field === undefined) return this.#object(value, { ...place, care: inner }, undefined)
    const { container, type } = field
    const message = container === 'map' ? undefined : this.#schema.findMessageType(type)
    const own = { container: 'single', type } as const
    return this.#object(value, { ...place, care: inner, field: own }, message)
  }

  /** The object of a message, or a map whose values have the type of the place. */
  #object(object: JsonObject, place: Place, message: MessageType | undefined): JsonObject {
    const renamed: JsonObject = new Map()
    for (const [name, value] of object) {
      const isKept = place.care === 'names' && (message !== undefined || fieldName.test(name))
      const own = isKept ? name : this.#pseudonyms.text(name)
      const field = message === undefined ? place.field : memberField(message, name)
      renamed.set(own, this.#value(value, { ...place, name, field }))
    }
    return renamed
  }

  #text(text: string, { name, care, isBuiltIn, field }: Place): string {
    if (field?.type === 'quantity' && quantity.test(text)) return text
    if (care === 'secret' || secretTexts.has(name)) return this.#pseudonyms.secret(text)
    if (care === 'names' && (name === 'kind' || name === 'listKind')) return text
    if (isBuiltIn && fieldLists.has(name) && fieldName.test(text)) return text
    const isEnumerated = (isBuiltIn ? name !== 'name' : enumerated.has(name)) && care === 'names'
    return isEnumerated && enumeration.test(text) ? text : this.#pseudonyms.text(text)
  }
}

/** The place of a value. */
interface Place {
  readonly name: string
  readonly care: Care
  readonly isBuiltIn: boolean
  /** The field that it is the value of, or one of the values; none where the schema has none. */
  readonly field: Pick<MessageField, 'container' | 'type'> | undefined
}

/** True for a map of names that users give, and for an object of any form that may be one. */
function hasFreeNames(
  name: string,
  { container }: Pick<MessageField, 'container' | 'type'>,
): boolean {
  return container === 'map' ? !fieldMaps.has(name) : freeMaps.has(name)
}

/** Any form of a quantity: in a field of quantities nothing else is kept. */
const quantity = /^[+-]?[\d.]+(?:[eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/

function memberField({ schema, fields }: MessageType, name: string): MessageField | undefined {
  for (const field of fields) {
    if (!field.isInline && field.jsonName === name) return field
    const inlined = field.isInline ? schema.findMessageType(field.type) : undefined
    const found = inlined === undefined ? undefined : memberField(inlined, name)
    if (found !== undefined) return found
  }
  return undefined
}

/** A value of an enumeration of Kubernetes: `ClusterIP`, `RollingUpdate`. */
const enumeration = /^[A-Z][A-Za-z]{1,39}$/
