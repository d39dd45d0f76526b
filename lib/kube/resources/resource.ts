/** What the API knows of one resource in one version: built in, declared by a CustomResourceDefinition, or configured. */

import type { SelectableField } from '../../codec/fields/selectable.ts'
import type { Subresource } from '../../codec/schema/schema.ts'
import type { CustomColumn } from '../../codec/table/printers/custom.ts'
import type { LearnedOutput } from '../../codec/served/learned/learned-output.ts'

/** Where kube-apiserver keeps everything unless told otherwise. */
export const defaultEtcdPrefix = '/registry'

/** How the stored object becomes the served one:
 *  - `same`: it is of the served kind and version
 *  - `relabel`: the same shape under another apiVersion; so are custom resources with the None conversion
 *  - `convert`: another shape
 *  - `webhook`: only the upstream can convert it */
export type Conversion = 'same' | 'relabel' | 'convert' | 'webhook'

/** Where and how the objects are stored. */
export interface ResourceStorage {
  /** The etcd prefix with its final slash, as text: the keyspace. */
  readonly prefix: string
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  readonly conversion: Conversion
}

/** What only resources have that are not built in: custom ones, and configured ones. */
export interface CustomVersion {
  /** The CustomResourceDefinition's name; undefined for configured resources. */
  readonly definition: string | undefined
  /** Its mod revision, so that whatever was derived from it can be told apart from what an older one led to. */
  readonly definedAt: number
  /** The structural schema of this version, as it stands in the definition; undefined if it has none. */
  readonly schema: unknown
  /** spec.preserveUnknownFields: nothing is pruned. */
  readonly preservesUnknownFields: boolean
  /** undefined where none are declared, which means the default columns. */
  readonly columns: readonly CustomColumn[] | undefined
  /** Being deleted: writes but deletes are refused. */
  readonly isTerminating: boolean
  /** Declarations that were ignored, and why. */
  readonly problems: readonly string[]
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
  /** undefined for resources that are computed, and never stored. */
  readonly storage: ResourceStorage | undefined
  readonly storageVersionHash: string | undefined
  readonly fields: readonly SelectableField[]
  /** What is said of any other field label. */
  readonly unknownField: (label: string) => string
  /** Upstream keeps it in its watch cache, which shows: `resourceVersion=0` ignores a limit, future revisions are waited for. */
  readonly isWatchCached: boolean
  /** Deprecated and the like: a Warning header for each. */
  readonly warnings: readonly string[]
  /** Routed by prefix and answered with JSON when unknown (built in, configured), or by name and with plain text (custom). */
  readonly routing: 'installed' | 'custom'
  readonly custom: CustomVersion | undefined
  /** Of an aggregated server: what was learnt of how it writes its objects. */
  readonly learned?: LearnedOutput | undefined
}

/** `apps/v1`, or `v1` in the core group. */
export function groupVersionText(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`
}

/** A Warning header, as upstream writes it: the text is quoted, and bytes of UTF-8 stand for themselves. Undefined if it has control
 *  characters: upstream leaves such a warning out. */
export function warningHeader(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const quoted = text.replace(/["\\]/g, '\\$&')
  return Buffer.from(`299 - "${quoted}"`, 'utf8').toString('latin1')
}
