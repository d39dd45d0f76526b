/** The verifier's knowledge of a value: how the server would change it on read, as far as that
 *  decides whether it would. */

import { KeyTable } from './key-table.ts'
import { goJsonString } from '@watchglass/go'

/** The forms of a scalar that Go's typed ObjectMeta leaves alone. */
export type ScalarForm =
  | 'text'
  | 'non-empty text'
  | 'integer'
  | 'non-zero integer'
  | 'boolean'
  | 'time'

/** Rules of a node that go beyond leaving everything alone but what its members say. */
export interface VerifyRules {
  /** Named members. */
  readonly members?: Readonly<Record<string, VerifyNode>>
  /** All other members. */
  readonly additional?: VerifyNode | undefined
  readonly items?: VerifyNode | undefined
  /** Members that are not described are kept. */
  readonly isPreserving?: boolean
  readonly isNullable?: boolean
  /** An object without it changes: it has a default, or Go writes it always. */
  readonly isExpected?: boolean
  /** A null in its place is replaced, even in a list. */
  readonly hasDefault?: boolean
  /** Only scalars of this form are left alone. */
  readonly form?: ScalarForm
  /** Only such a container, and not an empty one, is left alone. */
  readonly container?: 'object' | 'list'
}

/** A class, so that all nodes have one shape: the verifier's loop reads them for every member that
 *  it passes. */
export class VerifyNode {
  readonly table: KeyTable<VerifyNode> | undefined
  readonly additional: VerifyNode | undefined
  readonly items: VerifyNode | undefined
  readonly isPreserving: boolean
  readonly isNullable: boolean
  readonly isExpected: boolean
  /** Number of named members that are expected. */
  readonly expectedCount: number
  readonly hasDefault: boolean
  /** True where the rules do not describe the contents. */
  readonly isAnything: boolean
  /** True where the node has a `form` or a `container`. */
  readonly isStrict: boolean
  readonly form: ScalarForm | undefined
  readonly container: 'object' | 'list' | undefined

  constructor(rules: VerifyRules) {
    const members = Object.entries(rules.members ?? {})
    // Names are looked up as they stand in the text.
    const written = members.map(([name, node]) => [goJsonString(name).slice(1, -1), node] as const)
    this.table = members.length > 0 ? new KeyTable(written) : undefined
    this.additional = rules.additional
    this.items = rules.items
    this.isPreserving = rules.isPreserving ?? false
    this.isNullable = rules.isNullable ?? false
    this.isExpected = rules.isExpected ?? false
    this.expectedCount = members.filter(([, node]) => node.isExpected).length
    this.hasDefault = rules.hasDefault ?? false
    this.isAnything =
      this.isPreserving &&
      this.table === undefined &&
      this.additional === undefined &&
      this.items === undefined
    this.isStrict = rules.form !== undefined || rules.container !== undefined
    this.form = rules.form
    this.container = rules.container
  }
}
