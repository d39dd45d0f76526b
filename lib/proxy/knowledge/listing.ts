/** Reads the discovery documents of the upstream periodically: a restart may enable or disable an
 *  API, and definitions are added and deleted.
 *
 *  Only kube-apiserver has the core group under `/api`: other servers do not know the path. With
 *  aggregated discovery one document has everything. Without it each group version has its own
 *  document; of one that has no answer now, what was listed before stays listed. */

import { CacheError } from '@watchglass/base'
import type { Upstream } from '../upstream/upstream.ts'
import {
  type ListedResource,
  resourcesOfAggregated,
  resourcesOfVersion,
  UpstreamResources,
  versionsOfCore,
  versionsOfGroups,
} from '../aggregated/upstream-resources.ts'
import { ask, documentOf, hear } from '../upstream/ask.ts'

const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,' +
  'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'

/** Documents that are read at the same time, if there is one for each version. */
const underWayMax = 8

interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** The answer of one of the two roots: resources, or the group versions to read. */
interface Root {
  readonly resources: readonly ListedResource[]
  readonly versions: readonly GroupVersion[]
}

/** Everything that the upstream lists now, `before` being what it listed the last time. Fails if
 *  the upstream cannot be read. */
export async function listUpstream(
  upstream: Pick<Upstream, 'call'>,
  before: UpstreamResources | undefined,
  signal: AbortSignal,
): Promise<UpstreamResources> {
  const [core, groups] = await Promise.all(
    (['/api', '/apis'] as const).map(path => readRoot(upstream, path, signal)),
  )
  const resources = [core, groups].flatMap(root => root?.resources ?? [])
  const versions = [core, groups].flatMap(root => root?.versions ?? [])
  const unavailable: string[] = []
  const kept: ListedResource[] = []
  await eachOf(versions, async ({ group, version }) => {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const heard = await hear(upstream, { path, signal })
    if (heard.type === 'document') {
      resources.push(...resourcesOfVersion(group, version, heard.document))
      return
    }
    unavailable.push(group === '' ? version : `${group}/${version}`)
    if (heard.type === 'unanswered') kept.push(...(before?.of(group, version) ?? []))
  })
  if (versions.length > 0 && unavailable.length === versions.length && resources.length === 0) {
    throw new CacheError('upstream_failed', `${unavailable.join(', ')} cannot be read`)
  }
  resources.push(...kept)
  return new UpstreamResources(resources, { hasCore: core !== undefined, unavailable })
}

/** Undefined if the server has no such root. */
async function readRoot(
  upstream: Pick<Upstream, 'call'>,
  path: '/api' | '/apis',
  signal: AbortSignal,
): Promise<Root | undefined> {
  let answer = await ask(upstream, { path, accept: aggregated, signal })
  if (answer.code === 406 || answer.code === 415) answer = await ask(upstream, { path, signal })
  if (answer.code === 404 || answer.code === 410) return undefined
  if (answer.code === 401 || answer.code === 403) {
    throw new CacheError(
      'upstream_failed',
      `${path} is answered ${answer.code}: our own credentials may not read what it serves`,
    )
  }
  const document = documentOf(path, answer)
  const resources = resourcesOfAggregated(document)
  if (resources !== undefined) {
    const isEmptyCore = path === '/api' && resources.length === 0
    return isEmptyCore ? undefined : { resources, versions: [] }
  }
  const versions =
    path === '/api'
      ? versionsOfCore(document)?.map(version => ({ group: '', version }))
      : versionsOfGroups(document)
  // Some servers answer any path with their own page.
  return versions === undefined ? undefined : { resources: [], versions }
}

/** Does the task for each item, some at a time. */
export async function eachOf<T>(
  items: readonly T[],
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await task(item)
  }
  await Promise.all(Array.from({ length: underWayMax }, worker))
}
