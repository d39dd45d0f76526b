/** The objects that an API serves, as etcd would have them: without their resourceVersion, which is
 *  the revision of the entry, and in the envelope of their kind. What else is different stays: an
 *  API fills in the defaults of its version, and converts older versions. */

import { CacheError, type Key, knownRevision, type Revision } from '@watchglass/base'
import { KeyValue, noLease, type SlabWriter } from '@watchglass/store'
import { type FollowedResource, keyOf, type FollowedName } from '../api/followed-resource.ts'

/** An object that was found in an answer. */
export interface FoundObject extends FollowedName {
  readonly revision: Revision
}

/** The entry of an object. The API does not say when it was created, nor how often it was changed:
 *  both are left to what is known of all objects, so that the same object is always the same
 *  entry. */
export function entryOf(
  resource: FollowedResource,
  found: FoundObject,
  { stored, slabs }: { readonly stored: Uint8Array; readonly slabs: SlabWriter },
): KeyValue {
  const { revision } = found
  return new KeyValue(foundKey(resource, found), slabs.copy(stored), {
    createRevision: revision,
    modRevision: revision,
    version: 1,
    lease: noLease,
  })
}

/** The key of an object. Fails with `source_failed` for one that names none. */
export function foundKey(resource: FollowedResource, found: FollowedName): Key {
  const { namespace, name } = found
  const isElsewhere = resource.namespace !== '' && namespace !== resource.namespace
  if (name === '' || resource.isNamespaced !== (namespace !== '') || isElsewhere) {
    throw malformed(resource, `an object has the name "${name}" and the namespace "${namespace}"`)
  }
  return keyOf(resource, found)
}

/** The revision that a resourceVersion is. Fails with `source_failed` for one that is none: an
 *  API may have other ones, and then nothing can be told by them. */
export function revisionOf(text: string, resource: FollowedResource): Revision {
  if (!/^[1-9]\d{0,15}$/.test(text)) {
    throw malformed(resource, `the resourceVersion "${text.slice(0, 32)}" is not a revision`)
  }
  return knownRevision(Number(text))
}

/** An answer that cannot be understood. */
export function malformed({ name }: Pick<FollowedResource, 'name'>, problem: string): CacheError {
  return new CacheError('source_failed', `${name}: ${problem}`)
}
