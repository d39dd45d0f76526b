/** Reads the cells of some columns: of what is printed, of labels, of the key, and of JSONPaths. */

import { noteEffort, NotExact } from '@watchglass/base'
import type { Cell, ObjectEncoder, ReadCells, SelectableReader } from '@watchglass/codec'
import {
  type ListPlan,
  type MakeReader,
  nameOfKey,
  namespaceOfKey,
  prefixOfNamespaces,
} from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import type { ViewColumn } from '../question/view-column.ts'
import { type RowCells, rowCellsOf } from './row-cells.ts'

/** The readers of a resource's objects. */
export interface ObjectReaders {
  readonly encoder: ObjectEncoder
  readonly makeReader: MakeReader
}

export class CellReader {
  readonly #columns: readonly ViewColumn[]
  readonly #rows: RowCells | undefined
  readonly #labels: SelectableReader | undefined
  readonly #paths: ReadCells | undefined
  readonly #namespacePrefix: ReturnType<typeof prefixOfNamespaces>

  constructor(
    columns: readonly ViewColumn[],
    plan: Pick<ListPlan, 'resource' | 'keyspace'>,
    { encoder, makeReader }: ObjectReaders,
  ) {
    this.#columns = columns
    this.#namespacePrefix = prefixOfNamespaces(plan)
    const has = (wanted: string): boolean => columns.some(({ source }) => source.type === wanted)
    if (has('cell')) this.#rows = rowCellsOf(encoder)
    if (has('label')) this.#labels = makeReader(plan.resource, [], true)
    const declared = columns.flatMap(({ source }) =>
      source.type === 'path' ? [source.declared] : [],
    )
    if (declared.length > 0) this.#paths = encoder.readerOf(declared)
  }

  /** A cell for each column. `isOneOfMany` spares the few that are kept. */
  read(entry: KeyValue, wallMs: number, isOneOfMany = false): readonly Cell[] | NotExact {
    this.#noteEffort(entry.valueLength)
    const row = isOneOfMany ? this.#rows?.ofOne(entry, wallMs) : this.#rows?.of(entry, wallMs)
    if (row instanceof NotExact) return row
    const problem = this.#labels?.read(entry)
    if (problem !== undefined) return problem
    const found = this.#paths?.(entry, entry.modRevision)
    if (found instanceof NotExact) return found
    let path = 0
    return this.#columns.map(({ source }): Cell => {
      switch (source.type) {
        case 'name':
          return nameOfKey(entry.key)
        case 'namespace':
          return namespaceOfKey(entry.key, this.#namespacePrefix)
        case 'cell':
          return row?.[source.index] ?? null
        case 'label':
          return this.#labels?.label(source.key) ?? null
        case 'path':
          return found?.[path++] ?? null
      }
    })
  }

  /** Objects may be large. The fields of a row are found in passing, while the whole object is made
   *  for a path, and may have to be made into what a server would have stored first. */
  #noteEffort(bytes: number): void {
    if (this.#paths !== undefined) noteEffort(8 + bytes / bytesOfWhole)
    else noteEffort(bytes / bytesOfFields)
  }
}

/** The bytes of an object that are read, or made, in the time of a small thing: a microsecond. */
const bytesOfFields = 1024
const bytesOfWhole = 32
