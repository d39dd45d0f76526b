/** Fields that a write through a resource or a subresource cannot change: the server sets them
 *  back, so nobody comes to own them by that write. */

import { kindServedAs } from '../kinds/index.ts'
import type { BuiltInKind } from '../kinds/kind.ts'
import { FieldSet } from './sets/field-set.ts'
import { memberElement } from './sets/path-element.ts'

export type FieldFilter = (fields: FieldSet, apiVersion: string) => FieldSet

/** The target of a write: a resource in the version of the request, or a subresource of it. */
export interface WriteTarget {
  readonly group: string
  readonly resource: string
  readonly apiVersion: string
  readonly subresource: string
  /** True if a custom resource has the subresource `status`; undefined for built-in ones. */
  readonly hasCustomStatus: boolean | undefined
}

export function withoutResetFields(written: WriteTarget): FieldFilter {
  if (written.hasCustomStatus !== undefined) return customFilter(written)
  const reset = resetBuiltIn(written)
  return reset === undefined ? fields => fields : fields => fields.recursiveDifference(reset)
}

/** Filters fields that are reset: of custom resources, only owners in the version of the request
 *  lose them. */
function customFilter({ apiVersion, subresource, hasCustomStatus }: WriteTarget): FieldFilter {
  let reset: FieldSet | undefined
  if (subresource === 'status') reset = metadataAndSpec
  else if (subresource === '' && hasCustomStatus === true) reset = status
  return (fields, of) =>
    reset === undefined || of !== apiVersion ? fields : fields.recursiveDifference(reset)
}

function resetBuiltIn({ group, resource, subresource }: WriteTarget): FieldSet | undefined {
  const kind = kindServedAs(resource, group)
  const paths = kind && pathsReset(kind, subresource)
  if (paths === undefined) return undefined
  let set = sets.get(paths)
  if (set === undefined) sets.set(paths, (set = fieldsAt(paths)))
  return set
}

/** Made once for each list of paths. */
const sets = new WeakMap<readonly string[], FieldSet>()

function pathsReset(kind: BuiltInKind, subresource: string): readonly string[] | undefined {
  const named = subresource === '' ? kind.resets : kind.subresources?.[subresource]?.resets
  if (named !== undefined) return named
  if (kind.hasStatus !== true) return undefined
  if (subresource === '') return ofWhole
  if (subresource !== 'status') return undefined
  return kind.keepsMetadata === true ? ofGuardedStatus : ofStatus
}

const ofWhole = ['status']
const ofStatus = ['spec']
const ofGuardedStatus = ['metadata', 'spec']

function fieldsAt(paths: readonly string[]): FieldSet {
  return FieldSet.of(...paths.map(path => path.split('.').map(memberElement)))
}

const status = fieldsAt(ofWhole)
const metadataAndSpec = fieldsAt(ofGuardedStatus)
