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

/** The highest revision that is taken from an etcd or a file. It leaves room for those after it: an
 *  etcd that writes a million times a second is there in three hundred years. */
export const knownMax: number = 2 ** 53 - 2 ** 32

/** The number as a revision that an etcd or a file has; refuses those that leave no room. */
export function knownRevision(value: number): Revision {
  if (value <= knownMax) return revision(value)
  throw new CacheError('invalid_request', `revision ${value} is above 2^53 - 2^32`)
}

/** The revision after `value`. */
export function nextRevision(value: Revision): Revision {
  return revision(value + 1)
}
