/** Checks that the upstream and the mirror have the same objects of one resource, that is, that
 *  etcd, prefix and storage are the right ones. An API server may have events in another etcd or
 *  use another prefix, and then an empty list would be wrong.
 *
 *  The upstream is asked for its first object and the number of objects at its newest revision,
 *  and the mirror for the same at that revision. If both sides are empty, the revision of the
 *  upstream's list tells whether it reads our etcd: it is then between ours before and after the
 *  question. */

import {
  CacheError,
  keyFromText,
  listOf,
  numberOf,
  objectOf,
  prefixRange,
  type Revision,
  revision as revisionOf,
  textOf,
} from '@watchglass/base'
import type { Upstream } from '../upstream/upstream.ts'
import { groupVersionText, type Resource } from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'
import { ask, documentOf } from '../upstream/ask.ts'

/** The result.
 *  - `proven`: both sides have the same first object, and as many
 *  - `empty`: neither side has an object; `sharedAt` is the revision of the upstream's list, if our
 *    etcd had it at that time
 *  - `differs`: one side has an object that the other does not have */
export type StorageFinding =
  | { readonly type: 'proven' }
  | { readonly type: 'empty'; readonly sharedAt: Revision | undefined }
  | { readonly type: 'differs' }

export interface StorageCheckOptions {
  readonly upstream: Pick<Upstream, 'call'>
  readonly resource: Resource
  /** The mirror's contents at a revision. */
  readonly at: (revision: Revision) => Promise<Snapshot>
  /** The revision that the etcd of the resource has at some time during the call. */
  readonly revisionNow: () => Promise<Revision>
  readonly signal: AbortSignal
}

/** Fails when one of them does not answer. */
export async function checkStorage({
  upstream,
  resource,
  at,
  revisionNow,
  signal,
}: StorageCheckOptions): Promise<StorageFinding> {
  const { group, version, storage } = resource
  const root = group === '' ? '/api' : '/apis'
  const path = `${root}/${groupVersionText(group, version)}/${resource.resource}?limit=1`
  const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
  const before = await revisionNow()
  const answer = await ask(upstream, { path, accept, signal })
  const list = objectOf(documentOf(path, answer))
  const meta = objectOf(list['metadata'])
  const items = listOf(list['items'])
  const count = items.length + numberOf(meta['remainingItemCount'])
  const revision = revisionFrom(textOf(meta['resourceVersion']))
  if (count === 0 && (revision < before || revision > (await revisionNow()))) {
    return { type: 'empty', sharedAt: undefined }
  }
  const snapshot = await at(revision)
  const prefix = keyFromText(storage?.prefix ?? '')
  const held = snapshot.count(prefixRange(prefix))
  if (held !== count) return { type: 'differs' }
  if (count === 0) return { type: 'empty', sharedAt: revision }
  const first = objectOf(objectOf(items[0])['metadata'])
  const [namespace, name] = [textOf(first['namespace']), textOf(first['name'])]
  const scope = namespace === '' ? '' : `${namespace}/`
  const key = prefix + keyFromText(scope + name)
  const entry = snapshot.get(key as Parameters<Snapshot['get']>[0])
  const isSame = String(entry?.modRevision) === textOf(first['resourceVersion'])
  return { type: isSame ? 'proven' : 'differs' }
}

function revisionFrom(text: string): Revision {
  if (!/^\d{1,16}$/.test(text)) {
    throw new CacheError('upstream_failed', 'the list of the upstream has no revision')
  }
  return revisionOf(Number(text))
}
