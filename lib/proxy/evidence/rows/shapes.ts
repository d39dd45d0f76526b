/** The shape of a stored object is the set of its rows. Similar objects have the same shape,
 *  whatever their names, so a cluster of a hundred thousand objects has some hundreds of shapes,
 *  and what is proven of a shape is valid for all its objects. A shape is a small number that is
 *  noted in the entry, so the rows of each object are read once. */

import type { KeyValue } from '@watchglass/store'
import { hasEnvelope } from '@watchglass/codec'
import { JsonRows } from './json-rows.ts'
import { NamesInOrder } from './names-in-order.ts'
import { ProtobufRows } from './protobuf-rows.ts'
import { mixed, RowTable, wholeOf } from './row-table.ts'

/** The rows of a shape. */
export interface ShapeRows {
  readonly rows: Float64Array
  /** A number for the API names and their order. */
  readonly order: number
}

/** The most shapes that are kept. If a client makes up more, all are forgotten at once and read
 *  again: 16,384 shapes of 60 rows are 10 MB. */
const shapesMax = 16_384

/** Counts over all instances: a shape's number is valid only in the instance that has noted it. */
let epochs = 0

/** The shape of an object that cannot be read. */
export const noShape = -1

export class Shapes {
  readonly #rows = new RowTable()
  readonly #names = new NamesInOrder()
  readonly #protobuf = new ProtobufRows(this.#rows, this.#names)
  readonly #json = new JsonRows(this.#rows, this.#names)
  #ids = new Map<number, number>()
  #shapes: ShapeRows[] = []
  /** Changes whenever all shapes were forgotten. */
  #epoch = ++epochs

  /** The shape of an entry; `noShape` if its value cannot be read. Numbers are valid until `epoch`
   *  changes. */
  shapeOf(entry: KeyValue): number {
    const { note } = entry
    if (note !== 0 && Math.floor(note / shapesMax / 2) === this.#epoch) {
      return (note % (shapesMax * 2)) - 1
    }
    const shape = this.#read(entry)
    entry.note = this.#epoch * shapesMax * 2 + shape + 1
    return shape
  }

  get epoch(): number {
    return this.#epoch
  }

  rowsOf(shape: number): ShapeRows {
    return this.#shapes[shape] ?? nothing
  }

  #read(entry: KeyValue): number {
    const { bytes, start, end } = entry
    this.#rows.clear()
    this.#names.clear()
    const reader = hasEnvelope(bytes, start, end) ? this.#protobuf : this.#json
    if (!reader.read(entry) || this.#rows.isFull) return noShape
    const { sum } = this.#rows
    const order = this.#names.sum
    const name = wholeOf(mixed(sum | 0, order | 0), mixed(Math.floor(sum / 2 ** 21) | 0, order | 0))
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    if (this.#shapes.length === shapesMax) this.#forget()
    const shape = this.#shapes.length
    this.#shapes.push({ rows: this.#rows.take(), order })
    this.#ids.set(name, shape)
    return shape
  }

  #forget(): void {
    this.#ids = new Map()
    this.#shapes = []
    this.#epoch = ++epochs
  }
}

const nothing: ShapeRows = { rows: new Float64Array(0), order: 0 }
