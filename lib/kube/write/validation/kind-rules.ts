/** What the rules of a kind are. */

import type { Format } from './formats.ts'
import type { Place, Rule } from './place.ts'

/** A rule over an object and what it was. */
export type UpdateRule = (object: Place, old: Place) => void

export interface KindRules {
  /** The format of names; a DNS subdomain if it is not said. */
  readonly name?: Format
  /** The rules check the metadata themselves, since it does not come first or not at all. */
  readonly hasOwnMetadata?: true
  /** Finalizers need no domain. */
  readonly hasFreeFinalizers?: true
  readonly create?: Rule
  readonly update?: UpdateRule
  /** Updates of subresources. */
  readonly subresources?: Readonly<Record<string, UpdateRule>>
}
