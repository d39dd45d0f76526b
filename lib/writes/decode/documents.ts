/** Bodies as documents: JSON, and YAML as the JSON that it stands for. What cannot be parsed is
 *  refused in the words of Go's parsers. */

import { atOnce, type Steps } from '@watchglass/base'
import {
  documentInSteps,
  GoJsonError,
  type JsonValue,
  type ParsedDocument,
  parseGoJson,
} from '@watchglass/go'
import type { StatusError } from '@watchglass/kube'
import { rawText } from '../raw-json.ts'
import { tooLarge } from '../refusals.ts'
import { DecodeError } from './typed-decoder.ts'

/** The bound of an object's names and values. The cost of a write grows with them, and some steps
 *  of a write are taken in one piece (docs/SECURITY.md). An object of 1.5 MB, the most that etcd
 *  takes, has more only if they are shorter than four characters. */
export const valuesMax = 200_000

/** The JSON text of a body; throws `DecodeError` with the message of encoding/json. */
export function jsonBody(body: Uint8Array): ParsedDocument {
  return atOnce(jsonInSteps(body))
}

/** `jsonBody` in steps. */
export function* jsonInSteps(body: Uint8Array): Steps<ParsedDocument> {
  const document = yield* boundedInSteps(body)
  if (document !== undefined) return document
  throw new DecodeError(syntaxError(body))
}

/** The JSON text of a body; undefined if it is malformed. */
export function boundedDocument(body: Uint8Array): ParsedDocument | undefined {
  return atOnce(boundedInSteps(body))
}

/** `boundedDocument` in steps. */
export function* boundedInSteps(body: Uint8Array): Steps<ParsedDocument | undefined> {
  const document = yield* documentInSteps(body, 0, body.length, valuesMax)
  if (document !== 'too large') return document
  throw tooManyValues()
}

/** The refusal of a body with more than `valuesMax`. */
export function tooManyValues(): StatusError {
  const what = `the body has more than ${valuesMax} names and values`
  return tooLarge(`${what}, which this server does not take in one write`)
}

/** A tree as a document. */
export function treeDocument(value: JsonValue): ParsedDocument {
  return {
    value,
    sourceOf: rawText,
    hasRepeatedMembers: false,
    membersOf: object => object,
  }
}

function syntaxError(body: Uint8Array): string {
  try {
    parseGoJson(Buffer.from(body.buffer, body.byteOffset, body.length))
  } catch (error) {
    if (error instanceof GoJsonError) return error.message
    throw error
  }
  return 'exceeded max depth'
}

/** The members of an object that name its type. */
export interface Named {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The group, version and kind that a document names. Throws `DecodeError`: Go reads these with
 *  a decoder to which `Kind` and `kind` are the same. */
export function namedIn({ value, membersOf }: ParsedDocument): Named {
  let [apiVersion, kind] = ['', '']
  if (value !== null && !(value instanceof Map)) {
    const what = Array.isArray(value)
      ? 'array'
      : typeof value === 'object'
        ? 'number'
        : goKind(value)
    throw new DecodeError(
      `${prefix} json: cannot unmarshal ${what} into Go value of type ${probeType}`,
    )
  }
  for (const [name, member] of value === null ? [] : membersOf(value)) {
    const field = /^apiversion$/i.test(name) ? 'apiVersion' : /^kind$/i.test(name) ? 'kind' : ''
    if (field === '' || member === null) continue
    if (typeof member !== 'string') {
      const what = Array.isArray(member)
        ? 'array'
        : member instanceof Map
          ? 'object'
          : typeof member === 'boolean'
            ? 'bool'
            : 'number'
      throw new DecodeError(
        `${prefix} json: cannot unmarshal ${what} into Go struct field .${field} of type string`,
      )
    }
    if (field === 'kind') kind = member
    else apiVersion = member
  }
  return { ...groupVersionOf(apiVersion), kind }
}

const prefix = "couldn't get version/kind; json parse error:"
const probeType =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

function goKind(value: string | boolean): string {
  return typeof value === 'string' ? 'string' : 'bool'
}

/** Parses an apiVersion as schema.ParseGroupVersion does. */
function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } {
  if (apiVersion === '' || apiVersion === '/') return { group: '', version: '' }
  const parts = apiVersion.split('/')
  if (parts.length > 2) throw new DecodeError(`unexpected GroupVersion string: ${apiVersion}`)
  const [first = '', second] = parts
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

/** The beginning of a body, as refusals show it. */
export function summaryOf(body: Uint8Array): string {
  const shownMax = 30
  if (body.length === 0) return '<empty>'
  const shown = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, shownMax))
  const text = shown.toString(body[0] === 0x7b ? 'utf8' : 'hex')
  return body.length > shownMax ? `${text} ...` : text
}

/** The text of a JSON syntax error in a body whose kind is looked for. */
export function unnamed(error: DecodeError): DecodeError {
  return new DecodeError(`${prefix} ${error.message}`)
}
