/** What was learnt of how an aggregated server writes a resource in one version. */

import type { MediaType } from '../../negotiate/negotiate.ts'
import type { CustomColumn } from '../../table/printers/custom.ts'
import { apiVersionOf, type OutputKind } from '../../output/output-kind.ts'
import { NotExact } from '../../not-exact.ts'
import { LearnedKind } from './learned-kind.ts'

export interface LearnedOutput {
  /** Rises whenever something is learnt anew: what was kept of before is of no use. */
  readonly generation: number
  /** Items of lists say what they are. Those of most servers do not. */
  readonly hasTypedItems: boolean
  /** How a list, a Table, or a list of metadata, without objects is written. */
  readonly emptyItems: EmptyList | undefined
  readonly emptyRows: EmptyList | undefined
  readonly emptyMetadata: EmptyList | undefined
  /** Undefined where the server's Table is not known, or cannot be made here. */
  readonly table: LearnedTable | undefined
  /** It was seen whether the server has a watch cache, which shows in what it does with a limit. */
  readonly isWatchCacheKnown: boolean
  /** YAML is written as we write it. */
  readonly isYaml: boolean
  /** An object without content, as bookmarks have it. Undefined where it is not known. */
  readonly emptyObject: EmptyObject | undefined
}

/** The parts of `{"kind":"Flunder",...,"metadata":{"resourceVersion":"7","annotations":{...}},"spec":{}}`. */
export interface EmptyObject {
  /** Up to the digits of resourceVersion. */
  readonly beforeRevision: string
  /** From behind the digits to where annotations go. */
  readonly beforeAnnotations: string
  readonly behind: string
}

export type EmptyList = '[]' | 'null'

export interface LearnedTable {
  /** The JSON list of column definitions, as the server writes it; ours if it is left out. */
  readonly columnsJson?: string | undefined
  /** Undefined: those that a server has that declares none, the name and the time of creation. */
  readonly columns: readonly CustomColumn[] | undefined
}

export function learnedKindOf(
  kind: Omit<OutputKind, 'schema'>,
  learned: LearnedOutput,
): LearnedKind {
  return new LearnedKind({
    apiVersion: apiVersionOf(kind),
    storedApiVersion: apiVersionOf(kind.storage),
    kind: kind.kind,
    hasTypedItems: learned.hasTypedItems,
  })
}

/** A list of no items, or of no rows: Go writes null for one that was never made. Undefined where nothing is known of the server. */
export function emptyListOf(
  { learned }: Pick<OutputKind, 'learned'>,
  { rendering }: Pick<MediaType, 'rendering'>,
): EmptyList | undefined {
  // Lists of metadata are made by appending, and Go has nothing where nothing was appended.
  if (learned === undefined) return rendering === 'object' || rendering === 'Table' ? '[]' : 'null'
  if (rendering === 'Table') return learned.emptyRows
  return rendering === 'object' ? learned.emptyItems : learned.emptyMetadata
}

export const unknownEmptyList: NotExact = new NotExact(
  'how the server writes an empty list is not known',
)
