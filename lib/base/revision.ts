/** etcd store revisions as safe integers. Nothing else turns a number or a text into a
 *  `Revision`. */

import { CacheError } from './errors.ts'

declare const brand: unique symbol

/** A revision of the etcd store: a whole number from 0 to 2^53 - 1. */
export type Revision = number & { readonly [brand]: 'revision' }

/** The number as a revision; refuses what is not a whole number from 0 to 2^53 - 1. */
export function revision(value: number): Revision {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new CacheError(
      'invalid_request',
      `revision ${value} is not a whole number from 0 to 2^53 - 1`,
    )
  }
  return value as Revision
}

/** The revision after `value`. */
export function nextRevision(value: Revision): Revision {
  return revision(value + 1)
}
