/** Makes a recording that may leave its company: names, labels, values and texts become pseudonyms,
 *  and what is secret becomes other bytes. Kinds, fields, enumerations, numbers, sizes and times
 *  stay, so that the recording still loads as the cluster that it was. */

import { type Key, keyFromText, textFromKey } from '../../base/keys.ts'
import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  parseTree,
  textInOrder,
} from '../../codec/json/tree.ts'
import { NotExact } from '../../codec/not-exact.ts'
import type { Schema } from '../../codec/schema/schema.ts'
import { hasEnvelope } from '../../codec/transcode/envelope.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../codec/transcode/transcode.ts'
import { type Digest, Pseudonyms, wordsOfKubernetes } from './pseudonyms.ts'

/** Maps whose members clients name as they like. */
const freeMaps: ReadonlySet<string> = new Set([
  'fieldsV1',
  'labels',
  'matchLabels',
  'nodeSelector',
  'parameters',
  'selector',
])

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
    const isBuiltIn = this.#schema.findKind(apiVersion, kind) !== undefined
    return Buffer.from(textInOrder(this.#object(tree, 'names', isBuiltIn)))
  }

  #value(value: JsonValue, { name, care, isBuiltIn }: Place): JsonValue {
    if (typeof value === 'string') return this.#text(value, { name, care, isBuiltIn })
    if (Array.isArray(value)) return value.map(item => this.#value(item, { name, care, isBuiltIn }))
    if (value === null || typeof value !== 'object' || value instanceof JsonNumber) return value
    const inner = secretMaps.has(name) ? 'secret' : freeMaps.has(name) ? 'free' : care
    return this.#object(value, inner, isBuiltIn)
  }

  #object(object: JsonObject, care: Care, isBuiltIn: boolean): JsonObject {
    const renamed: JsonObject = new Map()
    for (const [name, value] of object) {
      const own = care === 'names' ? name : this.#pseudonyms.text(name)
      renamed.set(own, this.#value(value, { name, care, isBuiltIn }))
    }
    return renamed
  }

  #text(text: string, { name, care, isBuiltIn }: Place): string {
    if (care === 'secret' || secretTexts.has(name)) return this.#pseudonyms.secret(text)
    if (care === 'names' && (name === 'kind' || name === 'listKind')) return text
    const isEnumerated = (isBuiltIn ? name !== 'name' : enumerated.has(name)) && care === 'names'
    return isEnumerated && enumeration.test(text) ? text : this.#pseudonyms.text(text)
  }
}

/** The place of a value. */
interface Place {
  readonly name: string
  readonly care: Care
  readonly isBuiltIn: boolean
}

/** A value of an enumeration of Kubernetes: `ClusterIP`, `RollingUpdate`. */
const enumeration = /^[A-Z][A-Za-z]{1,39}$/
