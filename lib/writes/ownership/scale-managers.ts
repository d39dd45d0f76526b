/** Managers of `spec.replicas` on their way through the subresource `scale`: a Scale shows who
 *  manages its one number, and what a write through it changes goes back to the managers of the
 *  whole object. */

import type { JsonValue } from '@watchglass/go'
import {
  type Managers,
  type OwnedFields,
  managedFieldsOf,
  noManagers,
  readManagers,
} from './managers.ts'
import { FieldSet } from './sets/field-set.ts'
import { type ElementPath, memberElement } from './sets/path-element.ts'

/** The path of each version's number of replicas, as `['spec', 'replicas']`; undefined in versions
 *  without the subresource. */
export type ReplicasPaths = ReadonlyMap<string, readonly string[] | undefined>

const scaleVersion = 'autoscaling/v1'
const replicas: ElementPath = ['spec', 'replicas'].map(memberElement)

/** metadata.managedFields of the Scale. */
export function scaleManagedFields(
  managedFields: JsonValue | undefined,
  paths: ReplicasPaths,
): JsonValue[] | undefined {
  const { owned, times } = readManagers(managedFields)
  const scale = noManagers()
  for (const [id, owner] of owned) {
    const path = paths.get(owner.apiVersion)?.map(memberElement)
    if (path === undefined || !owner.fields.has(path)) continue
    scale.owned.set(id, { ...owner, apiVersion: scaleVersion, fields: FieldSet.of(replicas) })
    keepTime(scale, times, id)
  }
  return managedFieldsOf(scale)
}

/** metadata.managedFields of the object, after the Scale was written in a version of the object. */
export function parentManagedFields(
  managedFields: JsonValue | undefined,
  scaleFields: JsonValue | undefined,
  { paths, apiVersion }: { readonly paths: ReplicasPaths; readonly apiVersion: string },
): JsonValue[] | undefined {
  const { owned, times } = readManagers(managedFields)
  const ofScale = new Map(readManagers(scaleFields).owned)
  const parent = noManagers()
  for (const [id, owner] of owned) {
    const fields = fieldsAfterScale(owner, { paths, isOwner: ofScale.has(id) })
    if (fields === undefined) continue
    // Owners by update have another version in the Scale, and are listed there under it.
    if (hasReplicas(owner, paths)) ofScale.delete(id)
    parent.owned.set(id, { ...owner, fields })
    keepTime(parent, times, id)
  }
  const path = paths.get(apiVersion)?.map(memberElement)
  for (const [id, owner] of ofScale) {
    if (path === undefined || !owner.fields.has(replicas)) continue
    parent.owned.set(id, { ...owner, apiVersion, fields: FieldSet.of(path) })
    keepTime(parent, times, id)
  }
  return managedFieldsOf(parent)
}

/** The fields that an owner has left; undefined if it is dropped. */
function fieldsAfterScale(
  owner: OwnedFields,
  { paths, isOwner }: { readonly paths: ReplicasPaths; readonly isOwner: boolean },
): FieldSet | undefined {
  if (!paths.has(owner.apiVersion)) return undefined
  if (!hasReplicas(owner, paths) || isOwner) return owner.fields
  const path = paths.get(owner.apiVersion)?.map(memberElement) ?? []
  const left = owner.fields.difference(FieldSet.of(path))
  return left.isEmpty ? undefined : left
}

function hasReplicas({ apiVersion, fields }: OwnedFields, paths: ReplicasPaths): boolean {
  const path = paths.get(apiVersion)?.map(memberElement)
  return path !== undefined && fields.has(path)
}

function keepTime(managers: Managers, times: ReadonlyMap<string, string>, id: string): void {
  const time = times.get(id)
  if (time !== undefined) managers.times.set(id, time)
}
