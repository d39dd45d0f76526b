/** Reads of an aggregated server's resources that only the server itself can answer: those whose answers were not learnt, and refusals,
 *  whose texts depend on the library that the server was built with. */

import { CacheError } from '../base/errors.ts'
import type { MediaType } from '../codec/negotiate/negotiate.ts'
import type { PassReason } from './decide.ts'
import { PassInstead, passReasonOf } from './pass-instead.ts'
import type { ReadPlan } from './read-plan.ts'
import type { Query } from './request/request.ts'
import type { Resource } from './resources/resource.ts'
import { statusFromError } from './status.ts'

export interface LearnedRead {
  readonly mediaType: MediaType
  readonly plan: ReadPlan
  readonly query: Query
}

/** Throws `PassInstead` for a read whose answer is not known to look like the server's. */
export function checkLearned({ learned }: Resource, read: LearnedRead): void {
  const reason = learned === undefined ? undefined : unknownForm(learned, read)
  if (reason !== undefined) throw new PassInstead(reason)
}

function unknownForm(
  learned: NonNullable<Resource['learned']>,
  { mediaType: { encoding, rendering }, plan, query }: LearnedRead,
): PassReason | undefined {
  if (encoding === 'cbor') return 'media-type'
  if (encoding === 'protobuf' && rendering === 'object') return 'media-type'
  if (encoding === 'yaml' && !learned.isYaml) return 'form'
  if (rendering === 'Table' && learned.table === undefined) return 'table'
  // A server without a watch cache obeys the limit of a list at resourceVersion=0.
  const isAnyState = query.text('resourceVersion') === '0' && query.text('limit') !== ''
  if (isAnyState && !learned.isWatchCacheKnown) return 'form'
  const hasBookmarks = plan.type === 'watch' && plan.allowBookmarks
  return hasBookmarks && learned.emptyObject === undefined ? 'form' : undefined
}

/** The error to throw instead of a refusal, whose text is the server's own. All servers use the same texts for a missing object and for a
 *  revision that is too old. */
export function refusalOf({ learned }: Resource, error: unknown): unknown {
  if (learned === undefined || !(error instanceof CacheError)) return error
  if (passReasonOf(error) !== undefined) return error
  const { code } = statusFromError(error)
  if (code === 504) return learned.isWatchCacheKnown ? error : new PassInstead('refusal')
  return ownRefusals.has(code) ? new PassInstead('refusal') : error
}

const ownRefusals: ReadonlySet<number> = new Set([400, 405, 406, 415, 422, 500])
