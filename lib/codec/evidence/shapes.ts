/** The shape of a stored object: the set of its rows. Objects that are made alike have the same shape, whatever they are named, so a
 *  cluster of a hundred thousand objects has some hundreds of shapes, and what was found out about one holds for all objects that
 *  have it. A shape is a small number that is noted in the entry: reading the rows is done once for each object. */

import type { KeyValue } from '../../store/event.ts'
import { hasEnvelope } from '../transcode/envelope.ts'
import { JsonRows } from './json-rows.ts'
import { NamesInOrder } from './names-in-order.ts'
import { ProtobufRows } from './protobuf-rows.ts'
import { mixed, RowTable, wholeOf } from './row-table.ts'

/** What a shape is made of. */
export interface ShapeRows {
  readonly rows: Float64Array
  /** Stands for the names of the API's in their order. */
  readonly order: number
}

/** So many are told apart. Whoever makes up ever new ones has them forgotten, all at once, and read again: 16,384 shapes of 60 rows are
 *  10 MB. */
const shapesMax = 16_384

/** Of all of them: a number that one has noted means nothing to another. */
let epochs = 0

/** Of an object that is beyond us. */
export const noShape = -1

export class Shapes {
  readonly #rows = new RowTable()
  readonly #names = new NamesInOrder()
  readonly #protobuf = new ProtobufRows(this.#rows, this.#names)
  readonly #json = new JsonRows(this.#rows, this.#names)
  #ids = new Map<number, number>()
  #shapes: ShapeRows[] = []
  /** Another one whenever all were forgotten. */
  #epoch = ++epochs

  /** The shape of an entry; `noShape` if its value cannot be read. Numbers are good until `epoch` is another. */
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
