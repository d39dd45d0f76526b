/** A resource in one version as outputs know it, with the learnt output of an aggregated server's.
 *  The types are all that the codec knows: lib/kube knows much more of resources, and what stands
 *  before an upstream learns (lib/proxy/aggregated/). */

import type { Schema } from './schema/schema.ts'
import type { ByteWriter, NotExact } from '@watchglass/base'
import type { StoredValue } from './stored-value.ts'

export interface OutputKind {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  readonly group: string
  readonly version: string
  /** The plural name. */
  readonly resource: string
  readonly kind: string
  readonly listKind: string
  readonly storage: StoredKind
  /** Form of custom resources only. */
  readonly custom?: CustomOutput | undefined
  /** Form of aggregated servers' resources only. */
  readonly learned?: LearnedOutput | undefined
}

/** The kind as it is in etcd. */
export interface StoredKind {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  /** The way to what is served: the same, under another version's name, or in another shape. */
  readonly conversion: 'same' | 'relabel' | 'convert' | 'webhook'
}

export interface CustomOutput {
  /** The revision of the definition: what was derived from one revision is not valid for
   *  another. */
  readonly definedAt: number
  /** Undefined where the definition declares none. */
  readonly columns: readonly CustomColumn[] | undefined
}

/** A column as a definition declares it. */
export interface CustomColumn {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
  readonly jsonPath: string
}

/** `v1`, `apps/v1` */
export function apiVersionOf({
  group,
  version,
}: {
  readonly group: string
  readonly version: string
}): string {
  return group === '' ? version : `${group}/${version}`
}

/** The name of a kind's Go type, which some refusals mention. */
export function goTypeOf({ group, kind, listKind, custom }: OutputKind, isList: boolean): string {
  if (custom !== undefined) {
    return isList ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured'
  }
  const name = group.split('.')[0] ?? ''
  // Both groups of events share one internal type.
  const isCore = group === '' || group === 'events.k8s.io'
  return `*${isCore ? 'core' : (goPackages[name] ?? name)}.${isList ? listKind : kind}`
}

/** The Go packages that are not named like their group. */
const goPackages: Readonly<Record<string, string>> = { internal: 'apiserverinternal' }

/** The form in which an aggregated server writes a resource in one version, as far as that was
 *  learnt. */
export interface LearnedOutput {
  /** Rises whenever the server's output is learnt again: results from before are not valid any
   *  more. */
  readonly generation: number
  /** Items of lists say what they are. Those of most servers do not. */
  readonly hasTypedItems: boolean
  /** Form of a list, a Table, or a list of metadata, without objects. */
  readonly emptyItems: EmptyList | undefined
  readonly emptyRows: EmptyList | undefined
  readonly emptyMetadata: EmptyList | undefined
  /** Undefined where the server's Table is not known, or cannot be made here. */
  readonly table: LearnedTable | undefined
  /** Whether it is known if the server has a watch cache: a server with one ignores some limits. */
  readonly isWatchCacheKnown: boolean
  /** The server writes YAML in the same bytes as we do. */
  readonly isYaml: boolean
  /** An object without content, as in bookmarks. Undefined if it is not known. */
  readonly emptyObject: EmptyObject | undefined
  /** The writer of the kind's objects. */
  readonly objectsOf: (kind: LearnedNames) => LearnedObjects
}

/** The names of a kind, as it is served and as it is stored. */
export interface LearnedNames {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly storage: { readonly group: string; readonly version: string }
}

/** Writes stored objects as the server does. */
export interface LearnedObjects {
  /** Appends the object, without a newline; or says why that cannot be done exactly, and appends
   *  nothing. */
  append(out: ByteWriter, value: StoredValue, options: LearnedOptions): NotExact | undefined
  /** Why the object's labels and names may be served as others than those that are stored. */
  checkMetadata(value: StoredValue): NotExact | undefined
}

export interface LearnedOptions {
  /** Becomes `metadata.resourceVersion`; digits. */
  readonly resourceVersion: string
  /** An item of a list: those of most servers do not say what they are. */
  readonly isItem: boolean
}

/** The parts of
 *  `{"kind":"Flunder",...,"metadata":{"resourceVersion":"7","annotations":{...}},"spec":{}}`. */
export interface EmptyObject {
  /** Up to the digits of resourceVersion. */
  readonly beforeRevision: string
  /** From after the digits to where annotations go. */
  readonly beforeAnnotations: string
  readonly behind: string
}

export type EmptyList = '[]' | 'null'

export interface LearnedTable {
  /** The JSON list of column definitions, as the server writes it; ours if it is left out. */
  readonly columnsJson?: string | undefined
  /** Undefined for a server that declares no columns: it shows the name and the time of
   *  creation. */
  readonly columns: readonly CustomColumn[] | undefined
}
