/** The validation of a kind. */

import type { Format } from './formats.ts'
import type { Place, Rule } from './place.ts'

/** Checks an object, and compares it with the old one. */
export type UpdateRule = (object: Place, old: Place) => void

export interface KindRules {
  /** The format of names; a DNS subdomain by default. */
  readonly name?: Format
  /** The rules check the metadata themselves, since it does not come first or not at all. */
  readonly hasOwnMetadata?: true
  /** The prefix of a made-up name is not checked, but what came of it. */
  readonly hasFreePrefix?: true
  /** Finalizers need no domain. */
  readonly hasFreeFinalizers?: true
  /** A write of a subresource does not look at metadata as the kind does. */
  readonly hasFreeStatusMetadata?: true
  /** An update does not look at metadata beside what is looked at for all kinds. */
  readonly hasFreeUpdate?: true
  /** Metadata of an update is looked at as that of a new object, too. */
  readonly isCheckedAsNew?: true
  readonly create?: Rule
  readonly update?: UpdateRule
  /** Updates of subresources. */
  readonly subresources?: Readonly<Record<string, UpdateRule>>
}
