/** The object in the body of a write: decoded as its kind by the media type that the client
 *  names, with defaults, and with the errors of a strict decoder. Refusals are kube-apiserver's. */

import { NotExact, type Slice } from '@watchglass/base'
import {
  applyDecodeDefaults,
  jsonFromProtobuf,
  type MessageType,
  readEnvelope,
} from '@watchglass/codec'
import {
  goQuote,
  type JsonObject,
  memberOf,
  type ParsedDocument,
  textInSteps,
} from '@watchglass/go'
import { kindNamed } from '../kinds/index.ts'
import { badRequest, groupVersionText, StatusError } from '@watchglass/kube'
import type { FieldValidation } from '../write-options.ts'
import type { WriteKind } from '../write-kind.ts'
import { completeTree } from './complete-tree.ts'
import { jsonInSteps, type Named, namedIn, summaryOf, unnamed } from './documents.ts'
import { requireFewValues } from './protobuf-size.ts'
import { DecodeError, type Decoded, decodeTyped } from './typed-decoder.ts'
import { parseYaml } from './yaml-body.ts'

/** The forms of a body. */
export type BodyForm = 'json' | 'yaml' | 'protobuf'

const formByType: ReadonlyMap<string, BodyForm> = new Map([
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
])

/** The form that a Content-Type names; JSON without one. Custom resources have no protobuf form. */
export function bodyFormOf(
  contentType: string | undefined,
  { type }: Pick<WriteKind, 'type'>,
): BodyForm {
  if (contentType === undefined || contentType === '') return 'json'
  const [name = ''] = contentType.split(';')
  const form = formByType.get(name.trim().toLowerCase())
  if (form !== undefined && (type !== undefined || form !== 'protobuf')) return form
  const known = [...formByType.keys()].slice(0, type === undefined ? 2 : 3)
  throw unknownBody(known)
}

/** The refusal of a body in a form that is not known. */
export function unknownBody(accepted: readonly string[]): StatusError {
  return new StatusError('invalid_request', {
    code: 415,
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    reason: 'UnsupportedMediaType',
  })
}

/** A body as a document, before anything is known of its kind. */
export interface BodyDocument {
  readonly document: ParsedDocument
  /** Errors of the YAML parser. */
  readonly strictErrors: readonly string[]
}

/** Parses a body that is not protobuf, in steps; throws `DecodeError`. */
export async function parseBody(
  body: Uint8Array,
  form: BodyForm,
  slice: Pick<Slice, 'take'>,
): Promise<BodyDocument> {
  if (form !== 'yaml') return { document: await slice.take(jsonInSteps(body)), strictErrors: [] }
  const { value, strictErrors } = await slice.take(parseYaml(body))
  const json = Buffer.from(await slice.take(textInSteps(value)))
  return { document: await slice.take(jsonInSteps(json)), strictErrors }
}

export interface DecodeRequest {
  readonly body: Uint8Array
  readonly form: BodyForm
  readonly fieldValidation: FieldValidation
}

/** The contents of a body. */
export interface DecodedBody {
  /** Object of the kind; built-in ones with defaults and in Go's order. */
  readonly object: JsonObject
  /** Texts for Warning headers. */
  readonly warnings: readonly string[]
}

/** Decodes an object of a built-in kind. */
export async function decodeBuiltIn(
  kind: WriteKind & { readonly type: MessageType },
  { body, form, fieldValidation }: DecodeRequest,
  slice: Pick<Slice, 'take' | 'giveWay'>,
): Promise<DecodedBody> {
  const { document, strictErrors } = await documentOf(kind, { body, form }, slice)
  await slice.giveWay()
  const named = nameOf(document, kind, body)
  let decoded: Decoded
  try {
    decoded = decodeNamed(document, named, kind)
  } catch (error) {
    throw refusal(kind, named, error)
  }
  const apiVersion = groupVersionText(named.group, named.version)
  if (!isTakenAs(kind, apiVersion)) throw otherVersion(apiVersion, kind)
  const all = [...strictErrors, ...decoded.strictErrors]
  const warnings = judged(all, fieldValidation, message =>
    refusal(kind, named, new DecodeError(message)),
  )
  await slice.giveWay()
  try {
    return { object: completeBuiltIn(decoded.object, kind), warnings }
  } catch (error) {
    throw refusal(kind, named, error)
  }
}

/** Warnings of strict decoding, under a directive: warnings, or a refusal made by `refuse`. */
export function judged(
  strictErrors: readonly string[],
  fieldValidation: FieldValidation,
  refuse: (message: string) => StatusError,
): readonly string[] {
  if (strictErrors.length === 0 || fieldValidation === 'Ignore') return []
  if (fieldValidation === 'Warn') return strictErrors
  throw refuse(`strict decoding error: ${strictErrors.join(', ')}`)
}

/** Defaults, and Go's order. An empty list of managed fields stays, since it means that nobody
 *  manages any from now on. */
export function completeBuiltIn(
  object: JsonObject,
  written: WriteKind & { readonly type: MessageType },
): JsonObject {
  const { apiVersion, kind, type } = written
  object.set('apiVersion', apiVersion)
  object.set('kind', kind)
  applyDecodeDefaults(object, type, `${apiVersion} ${kind}`)
  const known = kindNamed(kind, written.group)
  known?.complete?.(object)
  const complete = known?.ordered?.(object, written) ?? completeTree(object, type)
  const managedFields = memberOf(object.get('metadata'), 'managedFields')
  const metadata = complete.get('metadata')
  if (Array.isArray(managedFields) && managedFields.length === 0 && metadata instanceof Map) {
    metadata.set('managedFields', managedFields)
  }
  return complete
}

/** The document of a body; syntax errors of JSON are told as what looks for its kind first tells
 *  them. */
export async function documentOf(
  kind: WriteKind,
  { body, form }: Pick<DecodeRequest, 'body' | 'form'>,
  slice: Pick<Slice, 'take'>,
): Promise<BodyDocument> {
  if (form === 'protobuf') {
    const json = jsonOfProtobuf(kind, body)
    return { document: await slice.take(jsonInSteps(json)), strictErrors: [] }
  }
  try {
    return await parseBody(body, form, slice)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw refusal(kind, undefined, form === 'json' ? unnamed(error) : error, body)
  }
}

/** An object without a kind is of the one that is expected. */
function jsonOfProtobuf(kind: WriteKind, body: Uint8Array): Uint8Array {
  const envelope = readEnvelope(body, 0, body.length)
  if (!(envelope instanceof NotExact)) {
    const type = kind.schema.findKind(envelope.apiVersion, envelope.kind)?.type ?? kind.type
    if (type !== undefined) requireFewValues(body, envelope, type)
  }
  const json = jsonFromProtobuf(body, 0, body.length, kind.schema)
  if (envelope instanceof NotExact || json instanceof NotExact) {
    const reason =
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]'
    throw refusal(kind, undefined, new DecodeError(reason), body)
  }
  return json
}

/** The group, version and kind of the object; those of the request where it has none itself. */
function nameOf(document: ParsedDocument, kind: WriteKind, body: Uint8Array): Named {
  let named: Named
  try {
    named = namedIn(document)
  } catch (error) {
    throw refusal(kind, undefined, error, body)
  }
  const isBare = named.version === '' && (named.group === '' || named.group === kind.group)
  return {
    kind: named.kind === '' ? kind.kind : named.kind,
    group: isBare ? kind.group : named.group,
    version: isBare ? kind.version : named.version,
  }
}

/** The scheme that kinds are registered in, as messages name it. */
export function schemeOf({ hasInternalType }: WriteKind): string {
  return hasInternalType === false
    ? goQuote('k8s.io/client-go/scale/util.go:146')
    : goQuote('k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30')
}

/** Decodes a document as the type that it names, and throws `DecodeError` where Go could not
 *  convert that into the internal type of the kind that is written. */
export function decodeNamed(document: ParsedDocument, named: Named, kind: WriteKind): Decoded {
  const apiVersion = groupVersionText(named.group, named.version)
  const expected = kind.hasInternalType === false ? 'v1' : internalPackage(kind.type?.name ?? '')
  const unknownConversion = (from: string): DecodeError =>
    new DecodeError(`converting (${from}) to (${expected}.${kind.kind}): unknown conversion`)
  const found = kind.schema.findKind(apiVersion, named.kind)
  if (found === undefined && isMetaKind(kind, named)) throw unknownConversion(`v1.${named.kind}`)
  if (found === undefined) {
    const name = goQuote(named.kind)
    throw new DecodeError(
      `no kind ${name} is registered for version ${goQuote(apiVersion)} in scheme ${schemeOf(kind)}`,
    )
  }
  const decoded = decodeTyped(document, found.type)
  const [, name = ''] = found.type.name.split('/')
  const isConverted =
    kind.hasInternalType === false
      ? apiVersion === kind.apiVersion
      : internalPackage(found.type.name) === expected
  if (named.kind !== kind.kind || !isConverted) throw unknownConversion(name)
  return decoded
}

const metaKinds = new Set([
  'WatchEvent',
  ...['List', 'Get', 'Delete', 'Create', 'Update', 'Patch'].map(verb => `${verb}Options`),
])

/** Options and events of watches are registered in every version. */
function isMetaKind({ schema }: WriteKind, { group, version, kind }: Named): boolean {
  return (
    metaKinds.has(kind) &&
    schema.resources.some(known => known.group === group && known.version === version)
  )
}

/** The package of the internal type: events of both groups have one. */
function internalPackage(typeName: string): string {
  return typeName === 'events/v1.Event' ? 'core' : typeName.slice(0, typeName.indexOf('/'))
}

/** True for the versions of the kind that have the same fields. */
export function isTakenAs(kind: WriteKind, apiVersion: string): boolean {
  return apiVersion === kind.apiVersion || kind.otherVersions?.includes(apiVersion) === true
}

/** The object is of another version than the path. */
export function otherVersion(apiVersion: string, kind: WriteKind): StatusError {
  return badRequest(
    `the API version in the data (${apiVersion}) does not match the expected API version (${kind.apiVersion})`,
  )
}

/** The refusal of an object that cannot be decoded. `named` is undefined where it is not even
 *  known what it is. */
export function refusal(
  { kind }: Pick<WriteKind, 'kind'>,
  named: Named | undefined,
  error: unknown,
  body: Uint8Array = new Uint8Array(0),
): StatusError {
  if (!(error instanceof DecodeError)) throw error
  return badRequest(
    named === undefined || named.kind === ''
      ? `the object provided is unrecognized (must be of type ${kind}): ${error.message} (${summaryOf(body)})`
      : `${named.kind} in version ${goQuote(named.version)} cannot be handled as a ${kind}: ${error.message}`,
  )
}
