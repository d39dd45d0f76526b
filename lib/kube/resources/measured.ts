/** The resources of a metrics server, `metrics.k8s.io`: usages of nodes and pods, which are
 *  measured when they are asked for and stored nowhere. `kubectl top` and autoscalers read them. */

import { goQuote } from '@watchglass/go'
import { type Resource, undefinedVersion } from './resource.ts'

const group = 'metrics.k8s.io'

/** In the order in which a metrics server lists them. */
export const measuredResources: readonly Resource[] = [
  measured('nodes', 'NodeMetrics', false),
  measured('pods', 'PodMetrics', true),
]

export function isMeasured(resource: Pick<Resource, 'group' | 'storage'>): boolean {
  return resource.group === group && resource.storage === undefined
}

function measured(resource: string, kind: string, isNamespaced: boolean): Resource {
  return {
    group,
    version: 'v1beta1',
    resource,
    singular: '',
    kind,
    listKind: `${kind}List`,
    isNamespaced,
    shortNames: [],
    categories: [],
    verbs: ['get', 'list'],
    subresources: [],
    storage: undefined,
    storageVersionHash: undefined,
    fields: [],
    unknownField: label => `field label not supported: ${goQuote(label)}`,
    isWatchCached: false,
    warnings: [],
    routing: 'installed',
    custom: undefinedVersion(undefined),
  }
}
