/** The API as the controllers use it: what is stored, and writes as any client does them. */

import type { Key } from '@watchglass/base'
import type { JsonValue } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'

/** An object by its key. */
export interface ApiPlace {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
}

export type Propagation = 'Background' | 'Foreground' | 'Orphan'

export interface DeleteRequest {
  readonly uid: string
  readonly propagation?: Propagation
  readonly graceSeconds?: number
}

export interface ClusterApi {
  /** The place of an object's key, in the stored version; undefined for keys of no resource that is
   *  served. */
  placeOf(key: Key): ApiPlace | undefined
  /** The key of an object that a reference names; undefined if nothing of that kind is served. */
  keyOf(reference: {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly namespace: string
  }): Key | undefined
  /** One resource of each keyspace of namespaced objects that can be deleted. */
  namespacedResources(): Iterable<Resource>
  read(key: Key): Promise<KeyValue | undefined>
  /** All that is stored of a resource in a namespace. */
  readAll(resource: Resource, namespace: string): Promise<readonly KeyValue[]>
  /** A JSON merge patch; of a subresource, if one is named. */
  patch(place: ApiPlace, patch: object, subresource?: string): Promise<unknown>
  /** A server-side apply of these members, by force; to a subresource, if one is named. */
  apply(
    place: ApiPlace,
    members: Readonly<Record<string, JsonValue>>,
    manager: string,
    subresource?: string,
  ): Promise<unknown>
  /** Nothing happens if the object is gone, or another one has its name. */
  delete(place: ApiPlace, request: DeleteRequest): Promise<void>
  /** Takes a finalizer of the namespace's spec. */
  finalizeNamespace(name: string, finalizers: readonly string[]): Promise<void>
}
