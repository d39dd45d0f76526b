/** The options of a delete: in its body if it has one, in its query otherwise. */

import { NotExact } from '@watchglass/base'
import type { JsonValue, ParsedDocument } from '@watchglass/go'
import { jsonFromEnvelope, type MessageType, readEnvelope } from '@watchglass/codec'
import { badRequest } from '@watchglass/kube'
import { bodyFormOf, parseBody } from '../decode/body.ts'
import { jsonBody, unnamed } from '../decode/documents.ts'
import { requireFewValues } from '../decode/protobuf-size.ts'
import { DecodeError, decodeTyped } from '../decode/typed-decoder.ts'
import {
  type DeleteOptions,
  deleteOptionsFromQuery,
  deleteOptionsFromTree,
} from '../write-options.ts'
import { textOf } from '../metadata.ts'
import type { WriteSession } from './session.ts'
import type { WriteBody } from './write.ts'

export async function readDeleteOptions(
  { kind, slice }: WriteSession,
  { query, contentType, body }: WriteBody,
): Promise<DeleteOptions> {
  if (body.length === 0) return deleteOptionsFromQuery(query)
  const type = kind.schema.messageType('meta/v1.DeleteOptions')
  const form = bodyFormOf(contentType, { type })
  try {
    const document =
      form === 'protobuf'
        ? protobufOptions(body, type)
        : optionsDocument(await sentDocument(body, form, slice))
    return deleteOptionsFromTree(decodeTyped(document, type).object)
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message)
    throw error
  }
}

/** The body as it was sent. JSON is looked into for its kind first, which errors say. */
async function sentDocument(
  body: Uint8Array,
  form: Parameters<typeof parseBody>[1],
  slice: WriteSession['slice'],
): Promise<ParsedDocument> {
  try {
    return (await parseBody(body, form, slice)).document
  } catch (error) {
    throw error instanceof DecodeError && form === 'json' ? unnamed(error) : error
  }
}

/** Clients in Go name the group and version of the resource as that of the options, since upstream
 *  has the kind in each of them. */
function protobufOptions(body: Uint8Array, type: MessageType): ParsedDocument {
  const envelope = readEnvelope(body, 0, body.length)
  if (envelope instanceof NotExact) throw new DecodeError(envelope.reason)
  if (envelope.kind !== '' && envelope.kind !== 'DeleteOptions') {
    throw new DecodeError('decoded object cannot be converted to DeleteOptions')
  }
  requireFewValues(body, envelope, type)
  const json = jsonFromEnvelope(body, envelope, type)
  if (json instanceof NotExact) throw new DecodeError(json.reason)
  return jsonBody(json)
}

/** Refuses what is of another kind. Any group and version may have such options. */
function optionsDocument(document: ParsedDocument): ParsedDocument {
  const { value } = document
  if (value === null) return document
  if (!(value instanceof Map)) {
    throw new DecodeError(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    )
  }
  const [version, kind] = [textOf(value.get('apiVersion')), textOf(value.get('kind'))]
  if (kind === '' || kind === 'DeleteOptions') return document
  if (isKnown(version, kind)) {
    throw new DecodeError(`converting (v1.${kind}) to (v1.DeleteOptions): unknown conversion`)
  }
  throw new DecodeError(
    `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(version === '' ? 'meta.k8s.io/v1' : version)} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`,
  )
}

/** Kinds that the scheme of these options has in any version, in one of `meta.k8s.io`, and in its
 *  first one only. */
const inAnyVersion = [
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'CreateOptions',
  'Status',
  'UpdateOptions',
]
const inMeta = ['PartialObjectMetadata', 'Table', 'TableOptions']
const inMetaV1 = ['GetOptions', 'ListOptions', 'PatchOptions', 'WatchEvent']

function isKnown(version: string, kind: string): boolean {
  if (inAnyVersion.includes(kind)) return true
  const isFirst = version === '' || version === 'meta.k8s.io/v1'
  if (inMeta.includes(kind)) return isFirst || version === 'meta.k8s.io/v1beta1'
  return isFirst && inMetaV1.includes(kind)
}

/** The name that Go's decoder has for a value. */
function jsonTypeOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'string') return 'string'
  return typeof value === 'boolean' ? 'bool' : 'number'
}
