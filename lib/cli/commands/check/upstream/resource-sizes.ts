/** The number of objects of a resource, and about how many bytes they are as they would be kept. */

import { listOf, memberAt, numberOf, textOf } from '@watchglass/base'
import type { DiscoveredResource } from './discovered-resources.ts'
import type { ResourceSize } from './memory-need.ts'
import { documentIn, type UpstreamQuestions } from './upstream-questions.ts'

const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
/** The encoding that a mirror asks for, and that it keeps. */
const kept = 'application/vnd.kubernetes.protobuf,application/json'

/** Objects whose bytes are read: the first ones by name, whose mean stands for all. */
const measuredMax = 25
/** Such a page of the largest objects that etcd takes, in JSON. */
const measuredMaxBytes = 64 * 1024 * 1024

/** Undefined where the server does not say how many there are. A server that cannot list the
 *  resource fails. */
export async function resourceSize(
  questions: UpstreamQuestions,
  { path }: Pick<DiscoveredResource, 'path'>,
): Promise<ResourceSize | undefined> {
  const first = documentIn(await questions.get(`${path}?limit=1`, { accept: metadata }))
  const shown = listOf(memberAt(first, ['items'])).length
  const remaining = numberOf(memberAt(first, ['metadata', 'remainingItemCount']))
  const isMore = textOf(memberAt(first, ['metadata', 'continue'])) !== ''
  if (shown === 0) return { objects: 0, bytes: 0 }
  if (isMore && remaining === 0) return undefined
  const objects = shown + remaining
  const measured = Math.min(objects, measuredMax)
  const options = { accept: kept, maxBytes: measuredMaxBytes }
  const { code, body } = await questions.get(`${path}?limit=${measured}`, options)
  if (code >= 300) return undefined
  return { objects, bytes: Math.round((body.length / measured) * objects) }
}
