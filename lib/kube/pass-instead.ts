/** What the mirror cannot answer, and the upstream can. */

import { CacheError } from '../base/errors.ts'
import { NotExactlyError } from './status.ts'
import type { PassReason } from './decide.ts'

/** Thrown instead of an answer, before any of it was sent: the request is to be passed on. */
export class PassInstead extends CacheError {
  readonly reason: PassReason

  constructor(reason: PassReason) {
    super('not_ready', `the mirror does not answer this: ${reason}`)
    this.reason = reason
  }
}

/** Why a request that met this failure may go to the upstream; undefined if the failure is the answer. */
export function passReasonOf(error: unknown): PassReason | undefined {
  if (error instanceof PassInstead) return error.reason
  return error instanceof NotExactlyError ? 'inexact' : undefined
}
