/** The number of objects of a resource, and about how many bytes they are as they would be kept. */

import { listOf, memberAt, numberOf, textOf } from '@watchglass/base'
import { type DiscoveredResource, listPath, scopesOf } from './discovered-resources.ts'
import type { ResourceSize } from './memory-need.ts'
import { documentIn, type UpstreamQuestions } from './upstream-questions.ts'

const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
/** The encoding that a mirror asks for, and that it keeps. */
const kept = 'application/vnd.kubernetes.protobuf,application/json'

/** Objects whose bytes are read: the first ones by name, whose mean stands for all. */
const measuredMax = 25
/** Such a page of the largest objects that etcd takes, in JSON. */
const measuredMaxBytes = 64 * 1024 * 1024

/** The size in all namespaces together. Undefined where the server does not say how many objects
 *  there are. A server that cannot list the resource fails. */
export async function resourceSize(
  questions: UpstreamQuestions,
  resource: DiscoveredResource,
  namespaces: readonly string[],
): Promise<ResourceSize | undefined> {
  let whole: ResourceSize = { objects: 0, bytes: 0 }
  for (const namespace of scopesOf(resource, namespaces)) {
    const size = await sizeAt(questions, listPath(resource, namespace))
    if (size === undefined) return undefined
    whole = { objects: whole.objects + size.objects, bytes: whole.bytes + size.bytes }
  }
  return whole
}

async function sizeAt(
  questions: UpstreamQuestions,
  path: string,
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
