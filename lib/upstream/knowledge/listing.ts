/** What the upstream serves, asked for again and again: an API may be switched on or off with any restart of it, and definitions come and
 *  go. One document from each of two paths where the upstream has aggregated discovery, one from each version elsewhere. */

import type { Upstream } from '../upstream.ts'
import {
  type ListedResource,
  resourcesOfAggregated,
  resourcesOfVersion,
  UpstreamResources,
  versionsOfGroups,
} from '../../kube/resources/upstream-resources.ts'
import { askDocument } from './ask.ts'

const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,' +
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'

/** Everything that the upstream lists now. */
export async function listUpstream(
  upstream: Pick<Upstream, 'call'>,
  signal: AbortSignal,
): Promise<UpstreamResources> {
  const [core, groups] = await Promise.all(
    ['/api', '/apis'].map(path => askDocument(upstream, { path, accept: aggregated, signal })),
  )
  const both = [resourcesOfAggregated(core), resourcesOfAggregated(groups)]
  const all = both.flatMap(part => part ?? [])
  if (both[0] === undefined) all.push(...(await ofVersion(upstream, '', 'v1', signal)))
  if (both[1] === undefined) {
    for (const { group, version } of versionsOfGroups(groups)) {
      // An aggregated server that is down has no document: nothing of it is served here.
      const found = await ofVersion(upstream, group, version, signal).catch(() => [])
      all.push(...found)
    }
  }
  return new UpstreamResources(all)
}

async function ofVersion(
  upstream: Pick<Upstream, 'call'>,
  group: string,
  version: string,
  signal: AbortSignal,
): Promise<ListedResource[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  return resourcesOfVersion(group, version, await askDocument(upstream, { path, signal }))
}
