/** The cells that are printed of entries. One change is read by each order and each live page of a
 *  resource, so the cells of the entries that were read last are kept. */

import type { NotExact } from '@watchglass/base'
import type { Cell, ObjectEncoder } from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'

/** Entries whose cells are kept: the changes of a round of live pages, before and after. */
const keptMax = 2_048

type ReadCells = readonly Cell[] | NotExact

export class RowCells {
  readonly #encoder: ObjectEncoder
  /** Undefined where cells say how long something has been running. */
  readonly #kept: Map<KeyValue, ReadCells> | undefined

  constructor(encoder: ObjectEncoder) {
    this.#encoder = encoder
    const isOfMoment = encoder.columns.some(({ kind }) => kind === 'duration')
    this.#kept = isOfMoment ? undefined : new Map()
  }

  of(entry: KeyValue, wallMs: number): ReadCells {
    const known = this.#kept?.get(entry)
    if (known !== undefined) return known
    const cells = this.#encoder.cells(entry, entry.modRevision, wallMs)
    if (this.#kept === undefined) return cells
    if (this.#kept.size >= keptMax) this.#kept.clear()
    this.#kept.set(entry, cells)
    return cells
  }

  /** The cells of an entry among very many, of which none is read again soon. */
  ofOne(entry: KeyValue, wallMs: number): ReadCells {
    return this.#kept?.get(entry) ?? this.#encoder.cells(entry, entry.modRevision, wallMs)
  }
}

const known = new WeakMap<ObjectEncoder, RowCells>()

/** The cells of an encoder's entries; one for all views of it. */
export function rowCellsOf(encoder: ObjectEncoder): RowCells {
  let cells = known.get(encoder)
  if (cells === undefined) known.set(encoder, (cells = new RowCells(encoder)))
  return cells
}
