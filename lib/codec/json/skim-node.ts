/** What the skimmer knows of a value: how the server would change it on read, as far as that decides whether it would. */

import type { KeyTable } from './key-table.ts'

/** What a scalar must look like to be left alone by Go's typed ObjectMeta. */
export type ScalarForm =
  'text' | 'non-empty text' | 'integer' | 'non-zero integer' | 'boolean' | 'time'

export interface SkimNode {
  /** The named members; undefined is none. */
  readonly table: KeyTable<SkimNode> | undefined
  /** All other members; undefined is none. */
  readonly additional: SkimNode | undefined
  readonly items: SkimNode | undefined
  /** Members that are not described may stay. */
  readonly isPreserving: boolean
  readonly isNullable: boolean
  /** An object without it changes: it has a default, or Go writes it always. */
  readonly isExpected: boolean
  /** How many named members are expected. */
  readonly expectedCount: number
  /** A null in its place is replaced, even in a list. */
  readonly hasDefault: boolean
  /** Only scalars of this form are left alone; undefined is anything. */
  readonly form: ScalarForm | undefined
  /** Only such a container, and not an empty one, is left alone; undefined is anything. */
  readonly container: 'object' | 'list' | undefined
}

/** Leaves everything alone but what its members say. */
export const plainNode: SkimNode = {
  table: undefined,
  additional: undefined,
  items: undefined,
  isPreserving: false,
  isNullable: false,
  isExpected: false,
  expectedCount: 0,
  hasDefault: false,
  form: undefined,
  container: undefined,
}
