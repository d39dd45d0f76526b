/** The keyspaces of a resource: one for all of its objects, or, where only some namespaces are
 *  mirrored, one for each of these. A Kubernetes API lists and watches each namespace apart, so
 *  each has a progress of its own. */

import { type Key, keyFromText } from '@watchglass/base'
import type { Resource } from './resource.ts'

type StoredResource = Pick<Resource, 'storage'>

/** The keyspace that a request of a namespace reads; empty: of all namespaces. */
export function keyspaceOf({ storage }: StoredResource, namespace: string): Key {
  const prefix = storage?.prefix ?? ''
  const isApart = storage?.namespaces?.includes(namespace) === true
  return keyFromText(isApart ? `${prefix}${namespace}/` : prefix)
}

/** Every keyspace of the resource. */
export function keyspacesOf(resource: StoredResource): readonly Key[] {
  const namespaces = resource.storage?.namespaces ?? ['']
  return namespaces.map(namespace => keyspaceOf(resource, namespace))
}

/** False for a request of other namespaces than those that are mirrored, or of all. */
export function isMirroredIn({ storage }: StoredResource, namespace: string): boolean {
  return storage?.namespaces?.includes(namespace) ?? true
}

/** The prefix behind which keys have their namespaces. A keyspace of one namespace begins further
 *  on. */
export function prefixOfNamespaces({
  resource: { storage },
  keyspace,
}: {
  readonly resource: StoredResource
  readonly keyspace: Key
}): Key {
  return storage?.namespaces === undefined ? keyspace : keyFromText(storage.prefix)
}

/** The resource as it is where only these namespaces are mirrored; undefined: all are. */
export function restrictedTo(
  resource: Resource,
  namespaces: readonly string[] | undefined,
): Resource {
  const { isNamespaced, storage } = resource
  if (namespaces === undefined || !isNamespaced || storage === undefined) return resource
  return { ...resource, storage: { ...storage, namespaces } }
}
