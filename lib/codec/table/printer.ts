/** The printers of rows, one for each kind: the fields that it needs, and what it makes of them. */

import type { Schema } from '../schema/schema.ts'
import type { Fields, Picked } from './pattern.ts'

/** The value of one cell. */
export type Cell = string | number | bigint | boolean | null

/** A remark on a row: kubectl hides rows that are `Completed` when asked to. */
export interface RowCondition {
  readonly type: 'Completed'
  readonly status: 'True'
  readonly reason: string
  readonly message: string
}

/** A printer for objects as a pattern reads them. */
export interface PrinterOf<P> {
  readonly fields: P
  /** As many cells as the server prints, which once is one more than there are columns. `now` is
   *  the wall clock in milliseconds; `schema` says how servers of the version print where they
   *  differ. */
  readonly cells: (object: Picked<P>, now: number, schema: Pick<Schema, 'has'>) => Cell[]
  readonly condition?: (object: Picked<P>) => RowCondition | undefined
  /** Lists are shown in this order, not by key. */
  readonly sortKey?: (object: Picked<P>) => number
}

/** A printer, without the type of its pattern. */
export interface Printer {
  readonly fields: Fields
  readonly cells: (object: unknown, now: number, schema: Pick<Schema, 'has'>) => Cell[]
  readonly condition?: (object: unknown) => RowCondition | undefined
  readonly sortKey?: (object: unknown) => number
}

/** Checks that `cells` asks for nothing that `fields` does not read. */
export function printer<const P extends Fields>(definition: PrinterOf<P>): Printer {
  return definition as unknown as Printer
}

/** The fields that nearly every printer needs. */
export const named = { name: 'text', creationTimestamp: 'time' } as const
