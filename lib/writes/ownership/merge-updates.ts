/** The owners of fields after a write, and what an apply makes of an object: the core of
 *  server-side apply (KEP 555). Managers own fields in the version in which they wrote; objects are
 *  converted to compare them there. */

import type { Steps } from '@watchglass/base'
import type { JsonObject } from '@watchglass/go'
import { ApplyConflicts, conflictsOf } from './conflicts.ts'
import { type ManagerName, type OwnedFields, managerId } from './managers.ts'
import { pruneApplied } from './prune-applied.ts'
import { FieldSet } from './sets/field-set.ts'
import { areEqual } from './sets/values.ts'
import { compareFields, mapComparison } from './typed/comparison.ts'
import { fieldsOf } from './typed/contained-fields.ts'
import { mergeValues } from './typed/merge.ts'
import { underType } from './typed/schema-changes.ts'
import { type TypedObject, type Versions, inVersion } from './versioned-objects.ts'

type Owned = ReadonlyMap<string, OwnedFields>

/** The context of both kinds of writes. */
export interface WriteContext {
  readonly versions: Versions
  /** Takes fields that the server resets, and so nobody owns, out of a set. */
  readonly withoutReset: (fields: FieldSet, apiVersion: string) => FieldSet
}

/** The owners after an object was replaced: the writer owns what changed, and nobody owns what
 *  is gone. */
export function* ownersAfterUpdate(
  context: WriteContext,
  { live, updated }: { readonly live: TypedObject; readonly updated: TypedObject },
  before: Owned,
  manager: ManagerName,
): Steps<Map<string, OwnedFields>> {
  const id = managerId(manager)
  const reconciled = yield* underSchemas(context.versions, live, before)
  const writer = { id, isForced: true }
  const { owned, changes } = yield* settle(context, { live, updated }, reconciled, writer)
  const kept = (owned.get(id)?.fields ?? new FieldSet()).difference(changes.removed)
  yield
  const fields = kept.union(changes.changed)
  yield
  put(owned, {
    manager,
    apiVersion: updated.apiVersion,
    fields: context.withoutReset(fields, updated.apiVersion),
  })
  return owned
}

export interface Applied {
  /** Undefined if the apply changes nothing. */
  readonly object: JsonObject | undefined
  readonly owned: Map<string, OwnedFields>
}

/** The object after an apply, and its owners. Throws `ApplyConflicts` if it would change what
 *  others own and is not forced. */
export function* applyConfiguration(
  context: WriteContext,
  { live, applied }: { readonly live: TypedObject; readonly applied: TypedObject },
  before: Owned,
  { manager, isForced }: { readonly manager: ManagerName; readonly isForced: boolean },
): Steps<Applied> {
  const { versions } = context
  const id = managerId(manager)
  const owned = yield* underSchemas(versions, live, before)
  yield
  const value = mergeValues(live.type, live.value, applied.value)
  const merged: TypedObject = { ...live, value: value instanceof Map ? value : new Map() }
  yield
  const last = owned.get(id)
  const applies = yield* fieldsOf(applied.type, applied.value)
  const fields = context.withoutReset(applies, applied.apiVersion)
  owned.set(id, { manager, apiVersion: applied.apiVersion, fields })
  yield
  const pruned = yield* pruneApplied(versions, merged, {
    owned,
    last,
    apiVersion: applied.apiVersion,
  })
  const settled = yield* settle(context, { live, updated: pruned }, owned, { id, isForced })
  yield
  yield
  const isSame = areEqual(live.value, pruned.value)
  return { object: isSame ? undefined : pruned.value, owned: settled.owned }
}

interface Changes {
  readonly removed: FieldSet
  /** The fields that were modified or added. */
  readonly changed: FieldSet
}

interface UpdatedObject {
  readonly live: TypedObject
  readonly updated: TypedObject
}

/** The changes of an update as a version of the API shows them; undefined for a version that does
 *  not exist. A generator function within `settle` would keep the object of each update alive until
 *  old space is collected: V8 gives every such closure that is called a hidden class there. */
function* changesIn(
  { versions, withoutReset }: WriteContext,
  { live, updated }: UpdatedObject,
  apiVersion: string,
): Steps<Changes | undefined> {
  const left = yield* inVersion(versions, live, apiVersion)
  const right = left && (yield* inVersion(versions, updated, apiVersion))
  if (left === undefined || right === undefined) return undefined
  const compared = yield* compareFields(left.type, left.value, right.value)
  const { removed, modified, added } = mapComparison(compared, fields =>
    withoutReset(fields, apiVersion),
  )
  yield
  return { removed, changed: modified.union(added) }
}

/** Removes changed fields from their owners, and deleted fields from everybody. Owners of
 *  versions that do not exist any more are dropped. */
function* settle(
  context: WriteContext,
  objects: UpdatedObject,
  before: Owned,
  writer: { readonly id: string; readonly isForced: boolean },
): Steps<{ owned: Map<string, OwnedFields>; changes: Changes }> {
  yield
  const ofWrite = (yield* changesIn(context, objects, objects.updated.apiVersion)) as Changes
  const comparisons = new Map<string, Changes | undefined>([[objects.updated.apiVersion, ofWrite]])
  const owned = new Map(before)
  const taken: OwnedFields[] = []
  for (const [id, owner] of before) {
    if (id === writer.id) continue
    yield
    const { apiVersion, fields } = owner
    if (!comparisons.has(apiVersion)) {
      comparisons.set(apiVersion, yield* changesIn(context, objects, apiVersion))
    }
    const changes = comparisons.get(apiVersion)
    if (changes === undefined) {
      owned.delete(id)
      continue
    }
    const lost = fields.intersection(changes.changed)
    yield
    if (!lost.isEmpty) taken.push({ ...owner, fields: lost })
    put(owned, { ...owner, fields: fields.difference(lost).difference(changes.removed) })
  }
  if (!writer.isForced && taken.length > 0) throw new ApplyConflicts(conflictsOf(taken))
  const own = owned.get(writer.id)
  if (own?.fields.isEmpty === true) owned.delete(writer.id)
  return { owned, changes: ofWrite }
}

/** The owners' fields under today's schemas. The object is converted once for each version,
 *  however many owners have it. */
function* underSchemas(
  versions: Versions,
  live: TypedObject,
  before: Owned,
): Steps<Map<string, OwnedFields>> {
  const owned = new Map<string, OwnedFields>()
  const objects = new Map<string, TypedObject | undefined>()
  for (const [id, owner] of before) {
    const { apiVersion, fields } = owner
    yield
    if (!objects.has(apiVersion)) {
      objects.set(apiVersion, yield* inVersion(versions, live, apiVersion))
    }
    const object = objects.get(apiVersion)
    if (object !== undefined) owned.set(id, { ...owner, fields: underType(fields, object.type) })
  }
  return owned
}

function put(owned: Map<string, OwnedFields>, owner: OwnedFields): void {
  const id = managerId(owner.manager)
  if (owner.fields.isEmpty) owned.delete(id)
  else owned.set(id, owner)
}
