/** metadata.managedFields after a write, as kube-apiserver keeps it, and what a server-side
 *  apply makes of an object. */

import type { Steps } from '@watchglass/base'
import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { completeTree } from '../decode/complete-tree.ts'
import { copyWritten } from '../decode/written-empties.ts'
import { badRequest, plainError, StatusError } from '@watchglass/kube'
import { applyOverClientSide, withLastApplied } from './client-side-apply.ts'
import { ApplyConflicts } from './conflicts.ts'
import {
  MalformedManagedFields,
  type Managers,
  managedFieldsInSteps,
  noManagers,
  readManagers,
} from './managers.ts'
import { type OwnershipContext, typedObject, writeContextOf } from './ownership-context.ts'
import { metaText } from '../metadata.ts'
import { tooLarge } from '../refusals.ts'
import { areEqual } from './sets/values.ts'
import type { WriteKind } from '../write-kind.ts'
import { TypeProblems } from './typed/problems.ts'
import { type Writer, managersAfterApply, managersAfterUpdate } from './update-managers.ts'
import type { TypedObject } from './versioned-objects.ts'

/** The object, which is about to replace `live` (undefined: is created), with its managers in
 *  the place of those that it came with. An object whose managers cannot be determined has none,
 *  as upstream does it. Changes none of its arguments. An object of a megabyte takes many steps. */
export function* updateManagedFields(
  context: OwnershipContext,
  live: JsonObject | undefined,
  updated: JsonObject,
): Steps<JsonObject> {
  const object = withManagedFields(updated, undefined)
  if (!isOfKind(context.kind, updated)) return object
  try {
    const before = managersBeforeUpdate(context, live, updated)
    // Managers of an object that had none are not kept until somebody applies.
    if (before.owned.size === 0 && live !== undefined) return object
    const kind = context.kind
    const allowsDuplicates = true
    const empty = emptyObject(context)
    yield
    const typedBefore = yield* typedObject(kind, live ?? empty, { allowsDuplicates })
    const typedAfter = yield* typedObject(kind, object, { allowsDuplicates })
    const objects = { live: typedBefore, updated: typedAfter }
    const write = writeContextOf(context)
    yield
    const managers = yield* managersAfterUpdate(write, objects, before, writerOf(context))
    return withManagedFields(object, yield* managedFieldsInSteps(managers))
  } catch (error) {
    if (error instanceof TypeProblems) return object
    throw error
  }
}

function isOfKind({ apiVersion, kind }: WriteKind, object: JsonObject): boolean {
  return object.get('apiVersion') === apiVersion && object.get('kind') === kind
}

/** The object after an apply, with its managers. It is not defaulted; what lost all its members
 *  is null. Throws the Status of a conflict, or of a configuration that cannot be applied. */
export function* serverSideApply(
  context: OwnershipContext & { readonly force: boolean },
  live: JsonObject | undefined,
  applied: JsonObject,
): Steps<JsonObject> {
  checkKind(context, applied)
  const before = managersBeforeApply(live)
  if (before.owned.size === 0) checkConversion(context, 'live', applied)
  const current = live ?? emptyObject(context)
  const apply: Apply = { context, current, applied, before }
  try {
    const { object, managers } = yield* applyOverClientSide(
      { isKubectl: context.manager === kubectl, live: current, kind: context.kind },
      force => applyOnce(apply, force || context.force),
    )
    yield
    if (object !== undefined) checkConversion(context, 'new', applied)
    const merged = withManagedFields(object ?? current, yield* managedFieldsInSteps(managers))
    return context.manager === kubectl ? withLastApplied(merged, applied) : merged
  } catch (error) {
    if (error instanceof ApplyConflicts) throw conflictStatus(error)
    throw error
  }
}

/** The updated object with the times of the live one, if nothing but times differs: then nothing
 *  is to be written. */
export function withoutNewTimestamps(live: JsonObject, updated: JsonObject): JsonObject {
  const before = managedFieldsIn(live)
  const after = managedFieldsIn(updated)
  if (!Array.isArray(before) || !Array.isArray(after) || after.length === 0) return updated
  if (before.length !== after.length) return updated
  const reverted = after.map((entry, i) => withTimeOf(entry, before[i] ?? null))
  if (!areEqual(before, reverted)) return updated
  const quiet = withManagedFields(updated, before)
  return areEqual(withManagedFields(live, before), quiet) ? quiet : updated
}

/** The manager under which kubectl applies on the server; it also applies by itself. */
const kubectl = 'kubectl'

/** Owns what an object without managers had when it was first applied to. */
const beforeFirstApply = 'before-first-apply'

interface Apply {
  readonly context: OwnershipContext
  readonly current: JsonObject
  readonly applied: JsonObject
  readonly before: Managers
}

function* applyOnce(
  { context, current, applied, before }: Apply,
  isForced: boolean,
): ReturnType<typeof managersAfterApply> {
  yield
  const write = writeContextOf(context)
  const writer = writerOf(context)
  const live = yield* typedLive(context, current)
  let managers = before
  if (managers.owned.size === 0) {
    const empty = yield* typedLive(context, emptyObject(context))
    const objects = { live: empty, updated: live }
    const first = { ...writer, name: beforeFirstApply }
    yield
    managers = yield* managersAfterUpdate(write, objects, before, first)
  }
  if (Array.isArray(managedFieldsIn(applied))) {
    throw badRequest('metadata.managedFields must be nil')
  }
  yield
  const objects = { live, applied: yield* typedApplied(context, applied) }
  return yield* managersAfterApply(write, objects, managers, { ...writer, isForced })
}

function typedApplied({ kind }: OwnershipContext, applied: JsonObject): Steps<TypedObject> {
  return typedOr(kind, applied, 'failed to create typed patch object')
}

function typedLive({ kind }: OwnershipContext, live: JsonObject): Steps<TypedObject> {
  return typedOr(kind, live, 'failed to create typed live object')
}

function* typedOr(
  kind: OwnershipContext['kind'],
  object: JsonObject,
  what: string,
): Steps<TypedObject> {
  try {
    return yield* typedObject(kind, object, {
      allowsDuplicates: what === 'failed to create typed live object',
    })
  } catch (error) {
    if (!(error instanceof TypeProblems)) throw error
    if (error.isTooLong) throw tooLarge(error.message)
    throw plainError(`${what} (${objectText(object)}): ${error.message}`)
  }
}

/** `namespace/name; group/version, Kind=kind` */
function objectText(object: JsonObject): string {
  const metadata = object.get('metadata')
  const namespace = textOf(memberOf(metadata, 'namespace'))
  const name = textOf(memberOf(metadata, 'name'))
  return `${namespace}/${name}; ${kindText(object)}`
}

function kindText(object: JsonObject): string {
  const apiVersion = textOf(object.get('apiVersion'))
  const groupVersion = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  return `${groupVersion}, Kind=${textOf(object.get('kind'))}`
}

/** The Scales of custom resources cannot be applied: kube-apiserver knows no conversion to them. It
 *  looks for one only where nobody owned anything of the Scale, and where something changes. */
function checkConversion(context: OwnershipContext, which: 'live' | 'new', of: JsonObject): void {
  if (context.isCustomScale !== true) return
  const { apiVersion, kind } = context.kind
  const name = which === 'live' ? '/' : `${metaText(of, 'namespace')}/${metaText(of, 'name')}`
  const start = which === 'live' ? 'failed to create manager for existing fields: ' : ''
  throw plainError(
    `${start}failed to convert ${which} object (${name}; ${apiVersion}, Kind=${kind}) to proper version: request to convert CR to an invalid group/version: ${apiVersion}`,
  )
}

function checkKind({ kind }: OwnershipContext, applied: JsonObject): void {
  if (applied.get('apiVersion') === kind.apiVersion && applied.get('kind') === kind.kind) return
  throw badRequest(`invalid object type: ${kindText(applied)}`)
}

function managersBeforeUpdate(
  { subresource, kind }: OwnershipContext,
  live: JsonObject | undefined,
  updated: JsonObject,
): Managers {
  if (subresource === '') {
    const sent = managedFieldsIn(updated)
    if (isReset(sent, kind)) return noManagers()
    const managers = readOrNone(sent)
    if (managers.owned.size > 0) return managers
  }
  return readOrNone(live === undefined ? undefined : managedFieldsIn(live))
}

function managersBeforeApply(live: JsonObject | undefined): Managers {
  try {
    return readManagers(live === undefined ? undefined : managedFieldsIn(live))
  } catch (error) {
    if (!(error instanceof MalformedManagedFields)) throw error
    throw plainError(`failed to decode managed fields: ${error.message}`)
  }
}

function readOrNone(managedFields: JsonValue | undefined): Managers {
  try {
    return readManagers(managedFields)
  } catch (error) {
    if (error instanceof MalformedManagedFields) return noManagers()
    throw error
  }
}

/** One empty entry, or an empty list: the client wants the managers forgotten. The empty list of
 *  a custom resource is lost when its metadata is decoded. */
function isReset(managedFields: JsonValue | undefined, { type }: WriteKind): boolean {
  if (!Array.isArray(managedFields) || managedFields.length > 1) return false
  const [entry] = managedFields
  if (entry === undefined) return type !== undefined
  return entry instanceof Map && entry.size === 0
}

function writerOf({ manager, subresource, kind, now }: OwnershipContext): Writer {
  return { name: manager, subresource, apiVersion: kind.apiVersion, now }
}

/** Stands for the object before a create: members that are always written are there. */
function emptyObject({ kind }: OwnershipContext): JsonObject {
  const empty: JsonObject = new Map([
    ['kind', kind.kind],
    ['apiVersion', kind.apiVersion],
  ])
  return kind.type === undefined ? empty : completeTree(empty, kind.type)
}

function managedFieldsIn(object: JsonObject): JsonValue | undefined {
  return memberOf(object.get('metadata'), 'managedFields')
}

/** A copy down to the metadata. */
function withManagedFields(object: JsonObject, managedFields: JsonValue | undefined): JsonObject {
  const metadata = object.get('metadata')
  if (!(metadata instanceof Map) && managedFields === undefined) return object
  const copy: JsonObject = new Map(metadata instanceof Map ? metadata : [])
  if (managedFields === undefined) copy.delete('managedFields')
  else copy.set('managedFields', managedFields)
  return copyWritten(object).set('metadata', copy)
}

function withTimeOf(entry: JsonValue, other: JsonValue): JsonValue {
  if (!(entry instanceof Map)) return entry
  const time = memberOf(other, 'time')
  const copy = new Map(entry)
  if (time === undefined) copy.delete('time')
  else copy.set('time', time)
  return copy
}

function conflictStatus(error: ApplyConflicts): StatusError {
  const causes = error.causes.map(cause => ({ reason: 'FieldManagerConflict', ...cause }))
  const { message } = error
  return new StatusError('invalid_request', {
    code: 409,
    message,
    reason: 'Conflict',
    details: { causes },
  })
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
