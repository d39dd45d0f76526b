/** Checks that the upstream and the mirror have the same objects of one resource, that is, that
 *  etcd, prefix and storage are the right ones. An API server may have events in another etcd or
 *  use another prefix, and then an empty list would be wrong.
 *
 *  The upstream is asked for its first object and the number of objects at its newest revision, and
 *  the mirror for the same at that revision. If both sides are empty, the check proves nothing:
 *  requests for the resource go to the upstream until it has an object. */

import { CacheError } from '../../base/errors.ts'
import { keyFromText, prefixRange } from '../../base/keys.ts'
import { revision as revisionOf, type Revision } from '../../base/revision.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { groupVersionText, type Resource } from '../../kube/resources/resource.ts'
import { listOf, numberOf, objectOf, textOf } from '../../base/untyped.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { ask, documentOf } from '../upstream/ask.ts'

export type StorageFinding =
  | 'proven'
  /** Neither side has an object. */
  | 'empty'
  /** One side has an object that the other does not have. */
  | 'differs'

export interface StorageCheckOptions {
  readonly upstream: Pick<Upstream, 'call'>
  readonly resource: Resource
  /** The mirror's contents at a revision. */
  readonly at: (revision: Revision) => Promise<Snapshot>
  readonly signal: AbortSignal
}

/** Fails when one of them does not answer. */
export async function checkStorage({
  upstream,
  resource,
  at,
  signal,
}: StorageCheckOptions): Promise<StorageFinding> {
  const { group, version, storage } = resource
  const root = group === '' ? '/api' : '/apis'
  const path = `${root}/${groupVersionText(group, version)}/${resource.resource}?limit=1`
  const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
  const answer = await ask(upstream, { path, accept, signal })
  const list = objectOf(documentOf(path, answer))
  const meta = objectOf(list['metadata'])
  const items = listOf(list['items'])
  const count = items.length + numberOf(meta['remainingItemCount'])
  const revision = revisionFrom(textOf(meta['resourceVersion']))
  const snapshot = await at(revision)
  const prefix = keyFromText(storage?.prefix ?? '')
  const held = snapshot.count(prefixRange(prefix))
  if (held !== count) return 'differs'
  if (count === 0) return 'empty'
  const first = objectOf(objectOf(items[0])['metadata'])
  const [namespace, name] = [textOf(first['namespace']), textOf(first['name'])]
  const scope = namespace === '' ? '' : `${namespace}/`
  const key = prefix + keyFromText(scope + name)
  const entry = snapshot.get(key as Parameters<Snapshot['get']>[0])
  return String(entry?.modRevision) === textOf(first['resourceVersion']) ? 'proven' : 'differs'
}

function revisionFrom(text: string): Revision {
  if (!/^\d{1,16}$/.test(text)) {
    throw new CacheError('upstream_failed', 'the list of the upstream has no revision')
  }
  return revisionOf(Number(text))
}
