/** One resource in one version: built in, declared by a CustomResourceDefinition, or configured. */

import type { CustomColumn, LearnedOutput, SelectableField, Subresource } from '@watchglass/codec'

/** The default of kube-apiserver's --etcd-prefix. */
export const defaultEtcdPrefix = '/registry'

/** The way from the stored object to the served one:
 *  - `same`: it is of the served kind and version
 *  - `relabel`: the same fields under another apiVersion; so are custom resources with the None
 *    conversion
 *  - `convert`: other fields
 *  - `webhook`: only the upstream can convert it */
export type Conversion = 'same' | 'relabel' | 'convert' | 'webhook'

/** Place and form of the stored objects. */
export interface ResourceStorage {
  /** The etcd prefix with its final slash, as text: the keyspace. */
  readonly prefix: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  readonly conversion: Conversion
  /** The only namespaces that are mirrored, each as a keyspace of its own (`keyspaces.ts`); one
   *  keyspace for all namespaces if it is left out. */
  readonly namespaces?: readonly string[] | undefined
}

/** Facts that only custom and configured resources have. */
export interface CustomVersion {
  /** The CustomResourceDefinition's name; undefined for configured resources. */
  readonly definition: string | undefined
  /** The revision since which it declares the same, so that what was derived from it is not
   *  confused with what was derived from an older one. */
  readonly definedAt: number
  /** The structural schema of this version, as it is written in the definition; undefined if it has
   *  none. */
  readonly schema: unknown
  /** spec.preserveUnknownFields: nothing is pruned. */
  readonly preservesUnknownFields: boolean
  /** Undefined if none are declared: the default columns are used. */
  readonly columns: readonly CustomColumn[] | undefined
  /** The definition is being deleted: all writes but deletes are refused. */
  readonly isTerminating: boolean
  /** Declarations that were ignored, and why. */
  readonly problems: readonly string[]
}

/** A version of which there is no definition: nothing is known of its fields, and all are kept. */
export function undefinedVersion(columns: CustomVersion['columns']): CustomVersion {
  return {
    definition: undefined,
    definedAt: 0,
    schema: undefined,
    preservesUnknownFields: true,
    columns,
    isTerminating: false,
    problems: [],
  }
}

export interface Resource {
  readonly group: string
  readonly version: string
  /** The plural name, as in paths. */
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly isNamespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  /** Undefined for resources that are computed and never stored. */
  readonly storage: ResourceStorage | undefined
  readonly storageVersionHash: string | undefined
  readonly fields: readonly SelectableField[]
  /** The error text for any other field label. */
  readonly unknownField: (label: string) => string
  /** Upstream has it in its watch cache. Clients can tell: a list at `resourceVersion=0` ignores
   *  its limit, and reads wait for future revisions. */
  readonly isWatchCached: boolean
  /** Deprecations and similar notes: a Warning header for each. */
  readonly warnings: readonly string[]
  /** Routed by prefix and answered with JSON when unknown (built in, configured), or by name and
   *  with plain text (custom). */
  readonly routing: 'installed' | 'custom'
  readonly custom: CustomVersion | undefined
  /** The output learnt of an aggregated server: how it writes its objects. */
  readonly learned?: LearnedOutput | undefined
}

/** `apps/v1`, or `v1` in the core group. */
export function groupVersionText(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** A Warning header, as upstream writes it: the text is quoted, and UTF-8 is not escaped. Undefined
 *  if it has control characters: upstream leaves such a warning out. */
export function warningHeader(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const quoted = text.replace(/["\\]/g, '\\$&')
  return Buffer.from(`299 - "${quoted}"`, 'utf8').toString('latin1')
}
