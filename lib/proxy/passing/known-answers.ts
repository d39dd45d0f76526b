/** Reads that only the server itself can answer: those whose answers hold more than is known of it,
 *  and refusals, whose texts depend on its version, or on the library that an aggregated server was
 *  built with. */

import { CacheError } from '@watchglass/base'
import {
  NotExactlyError,
  type PassReason,
  type Query,
  type ReadPlan,
  type Resource,
  type ResourceRoute,
  statusFromError,
} from '@watchglass/kube'
import type { AskedPlan } from '@watchglass/cache'

type Learned = NonNullable<Resource['learned']>

/** The reason to pass if a part of an aggregated server's answer was not learnt. */
export function unknownForm(
  learned: Learned,
  { mediaType: { encoding, rendering }, plan, query }: AskedPlan,
): PassReason | undefined {
  if (encoding === 'cbor') return 'media-type'
  if (encoding === 'protobuf' && rendering === 'object') return 'media-type'
  if (encoding === 'yaml' && !learned.isYaml) return 'form'
  if (rendering === 'Table' && learned.table === undefined) return 'table'
  // A server without a watch cache obeys the limit of a list at resourceVersion=0.
  const isAnyState = query.text('resourceVersion') === '0' && query.text('limit') !== ''
  if (isAnyState && !learned.isWatchCacheKnown) return 'form'
  if (isPageOfShards(plan)) return 'form'
  const hasBookmarks = plan.type === 'watch' && plan.allowBookmarks
  return hasBookmarks && learned.emptyObject === undefined ? 'form' : undefined
}

/** Servers built on Kubernetes 1.36 say how many objects are left after a page of a shard, those of
 *  1.37 do not, and an aggregated server does not tell on which it was built. */
function isPageOfShards(plan: ReadPlan): boolean {
  return (
    plan.type === 'list' &&
    plan.limit > 0 &&
    plan.shards !== undefined &&
    plan.labels.isEmpty &&
    plan.fields.isEmpty
  )
}

/** Whether an answer holds more than objects. Each version makes its own tokens and bookmarks, and
 *  how a watch may begin depends on feature gates. */
export function holdsMoreThanObjects(plan: ReadPlan, query: Query): boolean {
  return (
    (plan.type === 'watch' && (plan.allowBookmarks || query.text('sendInitialEvents') !== '')) ||
    (plan.type === 'list' && (plan.limit > 0 || query.text('continue') !== ''))
  )
}

/** Why a refusal is the upstream's to say. All servers use the same texts for a missing object and
 *  for a revision that is too old. */
export function objectionToRefusal(
  { resource: { learned }, subresource }: Pick<ResourceRoute, 'resource' | 'subresource'>,
  isCovered: boolean,
  refusal: unknown,
): PassReason | undefined {
  if (!(refusal instanceof CacheError)) return undefined
  if (refusal instanceof NotExactlyError) return 'inexact'
  const { code } = statusFromError(refusal)
  const isLate = code === 504
  if (!isCovered && (isLate || ownRefusals.has(code))) return 'version'
  const isKnownLate = learned?.isWatchCacheKnown === true && isLate
  if (learned !== undefined && !isKnownLate && (isLate || ownRefusals.has(code))) return 'refusal'
  // Evidence compares scales, and nothing else about the subresource.
  return subresource === 'scale' && code <= 500 && code !== 429 ? 'refusal' : undefined
}

/** Codes of refusals whose texts are a server's own. */
const ownRefusals: ReadonlySet<number> = new Set([400, 405, 406, 415, 422, 500])
