/** The proof of one resource in one form, such as the JSON of pods: the rows
 *  (lib/proxy/evidence/rows) that were in objects which the upstream showed in the same bytes. An
 *  object may be shown from the mirror when all of its rows are proven. */

import { noShape, type Shapes } from './rows/shapes.ts'
import type { OutputPlace } from '@watchglass/codec'

/** More rows than this are made up on purpose: everything is forgotten, and proven again. */
const rowsMax = 65_536

export interface ProvenFormOptions {
  readonly shapes: Shapes
  /** Cells are made from several texts together, so their combination matters. */
  readonly hasCells: boolean
  /** Objects are converted before they are shown, by rules that may look at several places at once:
   *  each shape is compared as a whole. */
  readonly isConverted?: boolean | undefined
}

/** Shapes as rows lie below all others. */
const firstShapeRow = -(2 ** 40)

export class ProvenForm {
  readonly #options: ProvenFormOptions
  readonly #proven = new Set<number>()
  readonly #claimed = new Map<number, number>()
  readonly #places = new Set<OutputPlace>()
  /** By shape: how many rows were proven at the last check; `allProven` if all rows of the shape
   *  were. */
  #known = new Int32Array(0)
  #epoch = 0
  #difference: string | undefined = undefined

  constructor(options: ProvenFormOptions) {
    this.#options = options
  }

  /** Place where the upstream's answer differed: the mirror shows nothing in this form any more. */
  get difference(): string | undefined {
    return this.#difference
  }

  /** Something was compared in that place. */
  isKnown(place: OutputPlace): boolean {
    return this.#places.has(place)
  }

  close(difference: string): void {
    this.#difference = difference
  }

  /** The difference was temporary. */
  reopen(): void {
    this.#difference = undefined
  }

  isProven(shape: number): boolean {
    if (this.#difference !== undefined || shape === noShape) return false
    const known = this.#knownOf(shape)
    if (known === allProven) return true
    if (known === this.#proven.size + 1) return false
    const isProven = this.#rowsOf(shape).every(row => this.#proven.has(row))
    this.#known[shape] = isProven ? allProven : this.#proven.size + 1
    return isProven
  }

  /** The upstream has shown an object of this shape in the same bytes as we do. */
  learn(shape: number, place: OutputPlace): void {
    this.#places.add(place)
    if (shape === noShape) return
    this.#knownOf(shape)
    if (this.#proven.size > rowsMax) {
      this.#proven.clear()
      this.#known.fill(0)
    }
    for (const row of this.#rowsOf(shape)) this.#proven.add(row)
  }

  /** Claims the unproven rows of an object that will be compared, so that no other object is
   *  compared for the same rows. Undefined if all are proven or claimed. `release` gives them
   *  back. */
  claim(shape: number): readonly number[] | undefined {
    if (shape === noShape) return undefined
    const rows = this.#rowsOf(shape)
    if (rows.every(row => this.#proven.has(row) || this.#claimed.has(row))) return undefined
    for (const row of rows) this.#claimed.set(row, (this.#claimed.get(row) ?? 0) + 1)
    return rows
  }

  release(rows: readonly number[]): void {
    for (const row of rows) {
      const claims = (this.#claimed.get(row) ?? 0) - 1
      if (claims > 0) this.#claimed.set(row, claims)
      else this.#claimed.delete(row)
    }
  }

  /** All rows that count in this form. */
  #rowsOf(shape: number): number[] {
    const { shapes, hasCells, isConverted = false } = this.#options
    const { rows, order } = shapes.rowsOf(shape)
    const all = hasCells ? [...rows, -1 - order] : [...rows]
    if (isConverted) all.push(firstShapeRow - shape)
    return all
  }

  #knownOf(shape: number): number {
    const { epoch } = this.#options.shapes
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      this.#known.fill(0)
      // Shapes have other numbers now.
      if (this.#options.isConverted === true) this.#proven.clear()
    }
    if (shape >= this.#known.length) {
      const longer = new Int32Array(Math.max(256, 2 ** Math.ceil(Math.log2(shape + 1))))
      longer.set(this.#known)
      this.#known = longer
    }
    return this.#known[shape] as number
  }
}

const allProven = -1
