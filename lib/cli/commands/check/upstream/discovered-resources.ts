/** The resources that a server lists in its discovery, and that can be listed and watched. */

import { listOf, memberOf, objectOf, textOf, textsOf } from '@watchglass/base'
import { documentIn, type UpstreamQuestions } from './upstream-questions.ts'

export interface DiscoveredResource {
  /** `pods`, or `deployments.apps` */
  readonly name: string
  readonly group: string
  readonly resource: string
  /** The path of the list of all objects. */
  readonly path: string
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

function* listedIn(root: string, document: unknown): Generator<DiscoveredResource> {
  for (const item of listOf(memberOf(document, 'items')).map(objectOf)) {
    const group = textOf(memberOf(item['metadata'], 'name'))
    for (const one of listOf(item['versions']).map(objectOf)) {
      const version = textOf(one['version'])
      for (const described of listOf(one['resources']).map(objectOf)) {
        const verbs = textsOf(described['verbs'])
        if (!verbs.includes('list') || !verbs.includes('watch')) continue
        const resource = textOf(described['resource'])
        const folder = group === '' ? `${root}/${version}` : `${root}/${group}/${version}`
        const name = group === '' ? resource : `${resource}.${group}`
        yield { name, group, resource, path: `${folder}/${resource}` }
      }
    }
  }
}
