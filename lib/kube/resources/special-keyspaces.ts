/** Keyspaces whose objects affect how others are served: access rules, and declarations of
 *  resources. They are mirrored even if they are not served, and are never evicted. */

import { type Key, keyFromText } from '@watchglass/base'

const ruleResources = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings']

export const declaringResources = [
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
] as const

const specialResources = [...ruleResources, ...declaringResources]

/** True for keyspaces that hold access rules. */
export function ruleKeyspaces(prefix: string): (keyspace: string) => boolean {
  return isOneOf(prefix, ruleResources)
}

/** True for keyspaces that affect how others are served. */
export function specialKeyspaces(prefix: string): (keyspace: string) => boolean {
  return isOneOf(prefix, specialResources)
}

/** Their etcd prefixes. */
export function specialPrefixes(prefix: string): string[] {
  return specialResources.map(name => `${prefix}/${name}/`)
}

/** Which keyspaces are mirrored: what is kept for clients, and what affects how others are served;
 *  nothing that is excluded. */
export function mirroredKeyspaces({
  prefix,
  isKept = () => true,
  excluded = [],
}: {
  readonly prefix: string
  readonly isKept?: ((keyspace: Key) => boolean) | undefined
  /** etcd prefixes. */
  readonly excluded?: readonly string[] | undefined
}): (keyspace: Key) => boolean {
  const isSpecial = specialKeyspaces(prefix)
  const isExcluded = new Set<string>(excluded.map(keyFromText))
  return keyspace => !isExcluded.has(keyspace) && (isKept(keyspace) || isSpecial(keyspace))
}

/** Also for the keyspace of one namespace of such a resource. */
function isOneOf(prefix: string, resources: readonly string[]): (keyspace: string) => boolean {
  const prefixes = resources.map(name => keyFromText(`${prefix}/${name}/`))
  return keyspace => prefixes.some(one => keyspace.startsWith(one))
}
