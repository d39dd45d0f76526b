/** The removals of an apply: fields that its manager applied the last time, does not apply now, and
 *  that nobody else owns. */

import type { Steps } from '@watchglass/base'
import type { JsonObject, JsonValue } from '@watchglass/go'
import type { OwnedFields } from './managers.ts'
import { FieldSet } from './sets/field-set.ts'
import { fieldsOf } from './typed/contained-fields.ts'
import { withoutFields } from './typed/removal.ts'
import { type TypedObject, type Versions, inVersion } from './versioned-objects.ts'

/** The merged object without those fields, in the version of the apply. */
export function* pruneApplied(
  versions: Versions,
  merged: TypedObject,
  {
    owned,
    last,
    apiVersion,
  }: {
    /** All owners, the manager with what it applies now. */
    readonly owned: ReadonlyMap<string, OwnedFields>
    readonly last: OwnedFields | undefined
    readonly apiVersion: string
  },
): Steps<TypedObject> {
  if (last === undefined || last.fields.isEmpty) return merged
  const whole = yield* inVersion(versions, merged, last.apiVersion)
  if (whole === undefined) return merged
  const emptied = without(whole, declared(whole, last.fields))
  yield
  const kept = yield* addBackOwned(versions, { whole, pruned: emptied }, owned)
  yield
  const pruned = yield* addBackDangling(versions, { whole, pruned: kept }, last)
  yield
  return (yield* inVersion(versions, pruned, apiVersion)) ?? merged
}

interface Pruning {
  readonly whole: TypedObject
  readonly pruned: TypedObject
}

/** Adds back what anybody owns. The version of the last apply comes first: conversions may need
 *  what it has. */
function* addBackOwned(
  versions: Versions,
  { whole, pruned }: Pruning,
  owned: ReadonlyMap<string, OwnedFields>,
): Steps<TypedObject> {
  const byVersion = new Map<string, FieldSet[]>([[whole.apiVersion, []]])
  for (const { apiVersion, fields } of owned.values()) {
    const sets = byVersion.get(apiVersion)
    if (sets === undefined) byVersion.set(apiVersion, [fields])
    else sets.push(fields)
  }
  let state: Pruning = { whole, pruned }
  for (const [apiVersion, sets] of byVersion) {
    const fields = FieldSet.unionOf(sets)
    if (apiVersion === whole.apiVersion && fields.isBare) continue
    yield
    const left = yield* inVersion(versions, state.whole, apiVersion)
    const right = yield* inVersion(versions, state.pruned, apiVersion)
    if (left === undefined || right === undefined) continue
    const all = declared(left, yield* fieldsOf(left.type, left.value))
    const present = declared(left, yield* fieldsOf(right.type, right.value))
    yield
    const gone = all.difference(present.union(declared(left, fields)))
    state = { whole: left, pruned: without(left, gone) }
  }
  return state.pruned
}

/** Adds back what the manager did not apply the last time: it may not remove that. */
function* addBackDangling(
  versions: Versions,
  { whole, pruned }: Pruning,
  last: OwnedFields,
): Steps<TypedObject> {
  const converted = yield* inVersion(versions, pruned, last.apiVersion)
  if (converted === undefined) return whole
  const present = declared(whole, yield* fieldsOf(converted.type, converted.value))
  const all = declared(whole, yield* fieldsOf(whole.type, whole.value))
  const before = declared(whole, last.fields)
  yield
  return without(whole, all.difference(present).intersection(before))
}

function declared(object: TypedObject, fields: FieldSet): FieldSet {
  return fields.withDeclaredMembers(object.type)
}

function without(object: TypedObject, fields: FieldSet): TypedObject {
  const value: JsonValue = withoutFields(object.type, object.value, fields)
  return { ...object, value: value instanceof Map ? value : (new Map() as JsonObject) }
}
