/** Requests that the mirror cannot answer and the upstream can. */

import { CacheError } from '../base/errors.ts'
import { Superseded, Unproven, VersionsDiffer } from '../codec/served/gate.ts'
import type { NotExact } from '../codec/not-exact.ts'
import type { PassReason } from './decide.ts'
import type { Resource } from './resources/resource.ts'
import { notExactly, NotExactlyError } from './status.ts'

/** Thrown before anything was sent: the request passes to the upstream. */
export class PassInstead extends CacheError {
  readonly reason: PassReason

  constructor(reason: PassReason) {
    super('not_ready', `the mirror does not answer this: ${reason}`)
    this.reason = reason
  }
}

/** The error of a request that reads an object which cannot be shown: the request passes, or is refused if there is no upstream. */
export function notShown(resource: Resource, problem: NotExact): CacheError {
  if (problem instanceof Unproven || problem instanceof Superseded) {
    return new PassInstead('unproven')
  }
  if (problem instanceof VersionsDiffer) return new PassInstead('versions-differ')
  return notExactly(resource, problem)
}

/** Why a request that met this failure may go to the upstream; undefined if the failure is the answer. */
export function passReasonOf(error: unknown): PassReason | undefined {
  if (error instanceof PassInstead) return error.reason
  return error instanceof NotExactlyError ? 'inexact' : undefined
}
