/** Reads labels and fields of stored objects in the simplest way, for tests that are not about
 *  reading them. */

import { readEnvelope } from '../../../lib/codec/transcode/envelope.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { type MessageField, type MessageType, schemaOf } from '../../../lib/codec/schema/schema.ts'
import type { MakeReader } from '../../../lib/kube/selectors/filter.ts'
import type { StoredValue } from '../../../lib/codec/stored-value.ts'

/** A reader that parses JSON, or decodes protobuf by the schema, whole. */
export const slowReader: MakeReader = resource => {
  let object: unknown
  return {
    read(entry) {
      const decoded = decodeStored(entry)
      if (decoded instanceof NotExact) return decoded
      object = applyDefaults(decoded, resource.resource)
      return undefined
    },
    label(key) {
      const labels = at(object, ['metadata', 'labels'])
      const value = at(labels, [key])
      return value === undefined ? undefined : asText(value)
    },
    eachLabel(take) {
      for (const key of Object.keys(at(object, ['metadata', 'labels']) ?? {})) take(key)
    },
    field({ paths, fallback }) {
      for (const path of paths) {
        const text = asText(at(object, path.split('.')))
        if (text !== '') return text
      }
      return fallback
    },
  }
}

/** Such readers, and a count of the objects that they have read. */
export function countingReader(): {
  readonly makeReader: MakeReader
  readonly reads: () => number
} {
  let reads = 0
  const makeReader: MakeReader = (...asked) => {
    const reader = slowReader(...asked)
    const read: typeof reader.read = entry => {
      reads++
      return reader.read(entry)
    }
    return { ...reader, read }
  }
  return { makeReader, reads: () => reads }
}

/** The defaults on read that field selectors show. */
function applyDefaults(object: unknown, resource: string): unknown {
  if (resource !== 'namespaces' || at(object, ['status', 'phase']) !== '') return object
  return { ...(object as object), status: { phase: 'Active' } }
}

function at(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const step of path) {
    const name = step.replace(/\[0\]$/, '')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
    if (name !== step) found = Array.isArray(found) ? (found as unknown[])[0] : undefined
  }
  return found
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** The object of a stored value. Only texts, numbers, booleans, messages, lists and maps of text
 *  are decoded. */
export function decodeStored({ bytes, start, end }: StoredValue): unknown {
  if (bytes[start] === 0x7b) return JSON.parse(Buffer.from(bytes.subarray(start, end)).toString())
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  const kind = schemaOf().findKind(envelope.apiVersion, envelope.kind)
  if (kind === undefined) return new NotExact(`no kind ${envelope.kind}`)
  return decodeMessage(kind.type, bytes, envelope.rawStart, envelope.rawEnd)
}

function decodeMessage(type: MessageType, bytes: Uint8Array, start: number, end: number): object {
  const object: Record<string, unknown> = {}
  let position = start
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[position++]!
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }
  while (position < end) {
    const tag = varint()
    const field = type.fields.find(({ number }) => number === tag >>> 3)
    if ((tag & 7) === 0) {
      const value = varint()
      if (field !== undefined) object[field.jsonName] = field.type === 'bool' ? value !== 0 : value
    } else if ((tag & 7) === 2) {
      const length = varint()
      if (field !== undefined) addValue(object, field, bytes.subarray(position, position + length))
      position += length
    } else {
      position += (tag & 7) === 1 ? 8 : 4
    }
  }
  return object
}

function addValue(object: Record<string, unknown>, field: MessageField, bytes: Uint8Array): void {
  if (field.container === 'map') {
    const [key, value] = mapEntry(bytes)
    object[field.jsonName] = { ...(object[field.jsonName] as object | undefined), [key]: value }
    return
  }
  const type = schemaOf().findMessageType(field.type)
  const value =
    type === undefined ? Buffer.from(bytes).toString() : decodeMessage(type, bytes, 0, bytes.length)
  if (field.container === 'list') {
    object[field.jsonName] = [...((object[field.jsonName] as unknown[] | undefined) ?? []), value]
  } else if (field.isInline) Object.assign(object, value)
  else object[field.jsonName] = value
}

/** Entries of maps from text to text. */
function mapEntry(bytes: Uint8Array): [string, string] {
  const keyLength = bytes[1]!
  const key = Buffer.from(bytes.subarray(2, 2 + keyLength)).toString()
  return [key, Buffer.from(bytes.subarray(4 + keyLength)).toString()]
}
