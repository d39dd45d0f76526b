/** The resources that a server lists in its discovery, and that can be listed and watched. */

import { listOf, memberOf, objectOf, textOf, textsOf } from '@watchglass/base'
import { documentIn, type UpstreamQuestions } from './upstream-questions.ts'

export interface DiscoveredResource {
  /** `pods`, or `deployments.apps` */
  readonly name: string
  readonly group: string
  readonly resource: string
  /** `/api/v1`, or `/apis/apps/v1` */
  readonly root: string
  readonly isNamespaced: boolean
}

/** The namespaces in which a resource is mirrored; an empty name is all of them, or the cluster. */
export function scopesOf(
  { isNamespaced }: Pick<DiscoveredResource, 'isNamespaced'>,
  namespaces: readonly string[],
): readonly string[] {
  return isNamespaced && namespaces.length > 0 ? namespaces : ['']
}

export function listPath(
  { root, resource }: Pick<DiscoveredResource, 'root' | 'resource'>,
  namespace = '',
): string {
  return namespace === '' ? `${root}/${resource}` : `${root}/namespaces/${namespace}/${resource}`
}

const accept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

/** Each resource once, in the version that its server prefers. */
export async function discoveredResources(
  questions: UpstreamQuestions,
): Promise<readonly DiscoveredResource[]> {
  const found = new Map<string, DiscoveredResource>()
  for (const root of ['/api', '/apis']) {
    const answer = await questions.get(root, { accept })
    // An aggregated server has no core group.
    if (root === '/api' && answer.code === 404) continue
    for (const one of listedIn(root, documentIn(answer))) {
      if (!found.has(one.name)) found.set(one.name, one)
    }
  }
  return [...found.values()]
}

function* listedIn(place: string, document: unknown): Generator<DiscoveredResource> {
  for (const item of listOf(memberOf(document, 'items')).map(objectOf)) {
    const group = textOf(memberOf(item['metadata'], 'name'))
    for (const one of listOf(item['versions']).map(objectOf)) {
      const version = textOf(one['version'])
      for (const described of listOf(one['resources']).map(objectOf)) {
        const verbs = textsOf(described['verbs'])
        if (!verbs.includes('list') || !verbs.includes('watch')) continue
        const resource = textOf(described['resource'])
        const root = group === '' ? `${place}/${version}` : `${place}/${group}/${version}`
        const name = group === '' ? resource : `${resource}.${group}`
        yield { name, group, resource, root, isNamespaced: described['scope'] === 'Namespaced' }
      }
    }
  }
}
