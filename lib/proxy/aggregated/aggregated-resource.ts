/** Makes `Resource` values for the resources of an aggregated server. */

import type { CustomColumn, LearnedOutput, SelectableField } from '@watchglass/codec'
import { learnedOutput } from './learned-kind.ts'
import {
  metadataFields,
  type Resource,
  type ResourceStorage,
  undefinedVersion,
} from '@watchglass/kube'
import type { ListedResource } from './upstream-resources.ts'

/** The place of objects in etcd, and their version. */
export interface Location {
  /** With its final slash. */
  readonly prefix: string
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The operator's declaration. */
export interface Declared {
  readonly prefix: string
  readonly storedVersion: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly fields: readonly SelectableField[]
  readonly columns: readonly CustomColumn[] | undefined
}

/** An operator's declaration of a resource, in whichever version. */
export function declaredIn(
  declared: readonly Resource[],
  { group, resource }: { readonly group: string; readonly resource: string },
): Declared | undefined {
  const found = declared.find(one => one.group === group && one.resource === resource)
  if (found?.storage === undefined) return undefined
  const { fields, storage, custom, kind, isNamespaced } = found
  const { prefix, version: storedVersion } = storage
  return { prefix, storedVersion, fields, columns: custom?.columns, kind, isNamespaced }
}

/** The assumptions before anything was learnt. */
export function nothingLearned(columns: readonly CustomColumn[] | undefined): LearnedOutput {
  return learnedOutput({
    generation: 0,
    hasTypedItems: false,
    emptyItems: undefined,
    emptyRows: undefined,
    emptyMetadata: undefined,
    table: columns === undefined ? undefined : { columns },
    isYaml: false,
    emptyObject: undefined,
    isWatchCacheKnown: false,
  })
}

/** A resource whose storage is known. `learned` is undefined if the server has no Go types of its
 *  objects. */
export type AggregatedResource = Resource & { readonly storage: ResourceStorage }

/** A resource whose storage is not known. */
export function unlocatedResource(listed: ListedResource): Resource {
  const { group, version, kind } = listed
  const nowhere = { prefix: '', group, version, kind }
  return { ...aggregatedResource(listed, nowhere, undefined), storage: undefined }
}

export function aggregatedResource(
  listed: ListedResource,
  location: Location,
  declared: Declared | undefined,
): AggregatedResource & { readonly learned: LearnedOutput } {
  const { group, version, resource, kind, isNamespaced } = listed
  const isStored = version === location.version && group === location.group
  return {
    group,
    version,
    resource,
    singular: listed.singular || kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    isNamespaced,
    shortNames: listed.shortNames,
    categories: listed.categories,
    verbs: listed.verbs,
    subresources: [],
    storage: { ...location, encoding: 'json', conversion: isStored ? 'same' : 'relabel' },
    storageVersionHash: listed.storageVersionHash,
    fields: declared?.fields ?? metadataFields(true),
    unknownField: label => `field label not supported: ${label}`,
    isWatchCached: true,
    warnings: [],
    routing: 'installed',
    custom: undefined,
    learned: nothingLearned(declared?.columns),
  }
}

/** A resource whose objects are maps with sorted members, like custom resources. */
export function untypedResource(
  resource: AggregatedResource,
  columns: readonly CustomColumn[] | undefined,
): AggregatedResource {
  return {
    ...resource,
    learned: undefined,
    custom: undefinedVersion(columns),
  }
}
