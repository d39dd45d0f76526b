/** A patch of a request: parsed, checked as far as fieldValidation asks for it, and applied.
 *  Server-side apply is another thing (lib/writes/ownership/managed-fields.ts). */

import type { Steps } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, type ParsedDocument } from '@watchglass/go'
import { badRequest, plainError, StatusError } from '@watchglass/kube'
import { jsonInSteps } from '../decode/documents.ts'
import { DecodeError } from '../decode/typed-decoder.ts'
import type { WriteKind } from '../write-kind.ts'
import { type JsonPatchOperation, PatchFailure, applyJsonPatch } from './json-patch.ts'
import { applyMergePatch, withoutNulls } from './merge-patch.ts'
import { StrategicFailure } from './strategic/failures.ts'
import { patchTypeOf } from './strategic/patch-schema.ts'
import { strategicMerge } from './strategic/strategic-merge.ts'
import { jsonPatchErrors, repeatedMembers } from './strict-errors.ts'

export type PatchFormat = 'json' | 'merge' | 'strategic'

export interface Patch {
  readonly type: PatchFormat
  readonly body: Uint8Array
  /** fieldValidation is not Ignore. */
  readonly isChecked: boolean
}

export interface Patched {
  /** The patched object, not decoded yet; its kind is not checked. Members are in the order in
   *  which messages show them. */
  readonly patched: JsonValue
  /** Errors of the patch itself: repeated members, and unknown ones of operations. */
  readonly strictErrors: readonly string[]
  /** The patch, as messages quote it. */
  readonly patch: JsonValue
}

/** More operations than this are refused. */
const operationsMax = 10_000

/** Applies the patch to an object in the version of the request, in steps. Throws the Status of a
 *  patch that cannot be applied. */
export function applyPatch(kind: WriteKind, live: JsonObject, patch: Patch): Steps<Patched> {
  switch (patch.type) {
    case 'json':
      return applyJson(live, patch)
    case 'merge':
      return applyMerge(live, patch)
    case 'strategic':
      return applyStrategic(kind, live, patch)
  }
}

function* applyJson(live: JsonObject, { body, isChecked }: Patch): Steps<Patched> {
  const document = yield* parsed(body, isChecked ? 'error decoding patch: ' : '')
  const type = isChecked ? '[]handlers.jsonPatchOp' : 'jsonpatch.Patch'
  const operations = operationsOf(document.value, { type, isChecked })
  const strictErrors = isChecked ? jsonPatchErrors(operations, document) : []
  if (operations.length > operationsMax) {
    throw new StatusError('overloaded', {
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity is too large: The allowed maximum operations in a JSON patch is ${String(operationsMax)}, got ${String(operations.length)}`,
    })
  }
  try {
    const patched = yield* applyJsonPatch(live, operations)
    return { patched, strictErrors, patch: document.value }
  } catch (error) {
    if (error instanceof PatchFailure) throw unprocessable()
    throw error
  }
}

function* applyMerge(live: JsonObject, { body, isChecked }: Patch): Steps<Patched> {
  let document: ParsedDocument
  try {
    document = yield* parsed(body, 'error decoding patch: ')
  } catch (error) {
    throw isChecked ? error : badMergePatch()
  }
  const { value } = document
  const patch = { strictErrors: isChecked ? repeatedMembers(document) : [], patch: value }
  yield
  if (value instanceof Map) return { patched: applyMergePatch(live, value), ...patch }
  if (value === null) throw badMergePatch()
  if (isChecked) throw badRequest(`error decoding patch: ${wrongType(value, goMap)}`)
  if (!Array.isArray(value)) throw badMergePatch()
  return { patched: withoutNulls(value), ...patch }
}

function* applyStrategic(
  { type }: WriteKind,
  live: JsonObject,
  { body, isChecked }: Patch,
): Steps<Patched> {
  const document = yield* parsed(body, '')
  const value = document.value ?? new Map<string, JsonValue>()
  if (!(value instanceof Map)) throw badRequest(wrongType(value, goMap))
  if (type === undefined) throw badRequest('strategic merge patch format is not supported')
  const strictErrors = isChecked ? repeatedMembers(document) : []
  yield
  try {
    const patched = strategicMerge(live, value, patchTypeOf(type))
    return { patched, strictErrors, patch: value }
  } catch (error) {
    if (!(error instanceof StrategicFailure)) throw error
    if (error.kind === 'bad_request') throw badRequest(error.message)
    throw error.kind === 'internal' ? plainError(error.message) : unprocessable()
  }
}

function* parsed(body: Uint8Array, prefix: string): Steps<ParsedDocument> {
  try {
    return yield* jsonInSteps(body)
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(prefix + error.message)
    throw error
  }
}

/** The operations that the document lists. Go refuses what is no list of objects, and members
 *  that are no texts. */
function operationsOf(
  value: JsonValue,
  { type, isChecked }: { readonly type: string; readonly isChecked: boolean },
): JsonPatchOperation[] {
  const prefix = isChecked ? 'error decoding patch: ' : ''
  if (value === null) return []
  if (!Array.isArray(value)) throw badRequest(prefix + wrongType(value, type))
  const itemType = isChecked ? 'handlers.jsonPatchOp' : 'jsonpatch.Operation'
  return value.map(operation => {
    if (operation === null) return new Map()
    if (!(operation instanceof Map)) throw badRequest(prefix + wrongType(operation, itemType))
    for (const name of isChecked ? ['op', 'path', 'from'] : []) {
      const member = operation.get(name) ?? null
      if (member === null || typeof member === 'string') continue
      const field = `Go struct field jsonPatchOp.${name} of type string`
      throw badRequest(`${prefix}json: cannot unmarshal ${jsonKind(member)} into ${field}`)
    }
    return operation
  })
}

const goMap = 'map[string]interface {}'

function wrongType(value: JsonValue, type: string): string {
  return `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${type}`
}

/** The name of a value's kind in Go's decoder. */
function jsonKind(value: JsonValue): string {
  if (value instanceof Map) return 'object'
  if (Array.isArray(value)) return 'array'
  if (value instanceof JsonNumber) return 'number'
  return typeof value === 'string' ? 'string' : 'bool'
}

function badMergePatch(): StatusError {
  return badRequest('Invalid JSON Patch')
}

/** The API does not say why. */
function unprocessable(): StatusError {
  return new StatusError('invalid_request', {
    code: 422,
    message: 'the server rejected our request due to an error in our request',
    reason: 'Invalid',
    details: {},
  })
}
