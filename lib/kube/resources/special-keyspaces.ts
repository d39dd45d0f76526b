/** Keyspaces whose objects affect how others are served: access rules, and declarations of resources. They are mirrored even if they are
 *  not served, and are never evicted. */

import { keyFromText } from '../../base/keys.ts'

const ruleResources = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings']

export const declaringResources = [
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
] as const

/** True for keyspaces that hold access rules. */
export function ruleKeyspaces(prefix: string): (keyspace: string) => boolean {
  return isOneOf(prefix, ruleResources)
}

/** True for keyspaces whose objects declare resources. */
export function declaringKeyspaces(prefix: string): (keyspace: string) => boolean {
  return isOneOf(prefix, declaringResources)
}

function isOneOf(prefix: string, resources: readonly string[]): (keyspace: string) => boolean {
  const keyspaces = new Set<string>(resources.map(name => keyFromText(`${prefix}/${name}/`)))
  return keyspace => keyspaces.has(keyspace)
}
