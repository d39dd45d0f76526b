/** Resources of an aggregated API server as its discovery lists them: what lies where in its etcd is not said there, so it is taken to lie
 *  where such servers keep it, and nothing is answered before it was found there (lib/upstream/knowledge/storage-check.ts). */

import { configuredResource } from './configured-resources.ts'
import type { Resource } from './resource.ts'
import type { UpstreamResources } from './upstream-resources.ts'

/** Everything that is listed, can be read in every way, and whose group nobody else declares. */
export function discoveredResources(
  listed: UpstreamResources,
  prefix: string,
  isDeclared: (group: string) => boolean,
): Resource[] {
  const resources: Resource[] = []
  for (const { group, version, resource, kind, isNamespaced, verbs } of listed.all) {
    const isReadable = ['get', 'list', 'watch'].every(verb => verbs.includes(verb))
    if (group === '' || !isReadable || isDeclared(group)) continue
    resources.push(
      configuredResource({
        group,
        version,
        resource,
        kind,
        scope: isNamespaced ? 'Namespaced' : 'Cluster',
        prefix: `${prefix}/${group}/${resource}`,
      }),
    )
  }
  return resources
}
