/** What was learnt of how an aggregated server writes a resource in one version. */

import type { CustomColumn } from '../../codec/table/printers/custom.ts'

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
