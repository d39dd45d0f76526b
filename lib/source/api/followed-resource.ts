/** A resource as it is followed at the API: where it is listed, in which version, and which key of
 *  its keyspace an object has. Keys are those of etcd, so that everything behind the mirror is the
 *  same whatever it follows. */

import { type Key, keyFromText, textFromKey } from '@watchglass/base'
import { compareVersions, groupVersionText, keyspaceOf, type Resource } from '@watchglass/kube'

/** The encoding in which objects are asked for: that of etcd. */
export type FollowedEncoding = 'protobuf' | 'json'

export interface FollowedResource {
  /** `/registry/pods/`, or `/registry/pods/default/` of one namespace. */
  readonly keyspace: Key
  /** The only namespace that is followed; empty: all, or none. */
  readonly namespace: string
  /** `pods`, or `deployments.apps` */
  readonly name: string
  /** `/api/v1` or `/apis/apps/v1` */
  readonly root: string
  readonly resource: string
  readonly isNamespaced: boolean
  readonly apiVersion: string
  readonly kind: string
  readonly encoding: FollowedEncoding
}

/** An object's name, with its namespace; that is empty for a resource of the cluster. */
export interface FollowedName {
  readonly namespace: string
  readonly name: string
}

/** The resource of a keyspace, in the version that etcd has, which is the one that the codec reads
 *  with the least effort; in the newest one where the API does not serve that: definitions are
 *  still stored as v1beta1. Undefined for the resources of aggregated servers. */
export function followedResource(
  keyspace: Key,
  versions: readonly Resource[],
): FollowedResource | undefined {
  const known = versions.filter(({ learned }) => learned === undefined)
  const stored = known.find(
    ({ group, version, storage }) => storage?.group === group && storage.version === version,
  )
  const served = stored ?? known.toSorted((a, b) => compareVersions(a.version, b.version))[0]
  const { storage } = served ?? {}
  if (served === undefined || storage === undefined) return undefined
  const { group, version, resource, isNamespaced } = served
  const namespace = storage.namespaces?.find(one => keyspaceOf(served, one) === keyspace) ?? ''
  const apiVersion = groupVersionText(group, version)
  return {
    keyspace,
    namespace,
    name: (group === '' ? resource : `${resource}.${group}`) + (namespace && ` in ${namespace}`),
    root: group === '' ? `/api/${version}` : `/apis/${apiVersion}`,
    resource,
    isNamespaced,
    apiVersion,
    kind: storage.kind,
    encoding: storage.encoding,
  }
}

/** The path of the list of all objects that are followed, or of those of a namespace. */
export function listPath(
  followed: FollowedResource,
  namespace: string = followed.namespace,
): string {
  const { root, resource } = followed
  if (namespace === '') return `${root}/${resource}`
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`
}

type FollowedPlace = Pick<FollowedResource, 'keyspace' | 'namespace' | 'isNamespaced'>

export function keyOf(place: FollowedPlace, { namespace, name }: FollowedName): Key {
  const hasNamespace = place.isNamespaced && place.namespace === ''
  return (place.keyspace + keyFromText(hasNamespace ? `${namespace}/${name}` : name)) as Key
}

/** The object that a key names; undefined for a key that names none. */
export function objectOfKey(place: FollowedPlace, key: Key): FollowedName | undefined {
  const { keyspace, namespace, isNamespaced } = place
  if (!key.startsWith(keyspace)) return undefined
  const rest = textFromKey(key.slice(keyspace.length) as Key)
  const slash = rest.indexOf('/')
  const isNameAlone = !isNamespaced || namespace !== ''
  if (isNameAlone) return rest === '' || slash >= 0 ? undefined : { namespace, name: rest }
  const [first, name] = [rest.slice(0, Math.max(0, slash)), rest.slice(slash + 1)]
  if (first === '' || name === '' || name.includes('/')) return undefined
  return { namespace: first, name }
}

/** The media type in which objects are asked for. */
export function acceptOf({ encoding }: Pick<FollowedResource, 'encoding'>): string {
  return encoding === 'protobuf' ? 'application/vnd.kubernetes.protobuf' : 'application/json'
}

export function watchPath(
  resource: FollowedResource,
  { after, timeoutSeconds }: { readonly after: number; readonly timeoutSeconds: number },
): string {
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${after}`
  return `${listPath(resource)}?${query}&timeoutSeconds=${timeoutSeconds}`
}
