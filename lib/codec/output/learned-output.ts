/** How an aggregated server writes a resource in one version, as far as that was learnt. The type is all that the core knows of it:
 *  what stands before an upstream makes the values (lib/front/aggregated/). */

import type { NotExact } from '../not-exact.ts'
import type { StoredValue } from '../stored-value.ts'
import type { CustomColumn } from '../table/printers/custom.ts'
import type { ByteWriter } from '../../wire/byte-writer.ts'

export interface LearnedOutput {
  /** Rises whenever the server's output is learnt again: results from before are not valid any more. */
  readonly generation: number
  /** Items of lists say what they are. Those of most servers do not. */
  readonly hasTypedItems: boolean
  /** How a list, a Table, or a list of metadata, without objects is written. */
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
  /** Appends the object, without a newline; or says why that cannot be done exactly, and appends nothing. */
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

/** The parts of `{"kind":"Flunder",...,"metadata":{"resourceVersion":"7","annotations":{...}},"spec":{}}`. */
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
  /** Undefined for a server that declares no columns: it shows the name and the time of creation. */
  readonly columns: readonly CustomColumn[] | undefined
}
