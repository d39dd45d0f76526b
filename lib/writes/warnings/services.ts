/** Warnings about Services: fields that are ignored, or should not be used any more. */

import type { Place } from '../validation/place.ts'
import { ofAddress, ofPrefix } from './addresses.ts'

const topologyHints = 'service.kubernetes.io/topology-aware-hints'

export function ofService(service: Place): string[] {
  const spec = service.in('spec')
  const text = (name: string): string => spec.in(name).text
  const isNamed = text('type') === 'ExternalName'
  const isHeadless = text('type') === 'ClusterIP' && text('clusterIP') === 'None'
  const external = spec.in('externalIPs')
  const hasHints = service.in('metadata', 'annotations').object?.has(topologyHints) === true
  return [
    ...when(
      hasHints,
      `annotation ${topologyHints} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ),
    ...spec.in('clusterIPs').items.flatMap(ofAddress),
    ...when(
      isHeadless && text('loadBalancerIP') !== '',
      'spec.loadBalancerIP is ignored for headless services',
    ),
    ...when(isHeadless && external.size > 0, 'spec.externalIPs is ignored for headless services'),
    ...when(
      isHeadless && text('sessionAffinity') !== 'None',
      'spec.SessionAffinity is ignored for headless services',
    ),
    ...external.items.flatMap(ofAddress),
    ...when(
      external.size > 0 && !isHeadless && !isNamed,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ),
    ...ofAddress(spec.in('loadBalancerIP')),
    ...spec.in('loadBalancerSourceRanges').items.flatMap(ofPrefix),
    ...when(
      isNamed && external.size > 0,
      'spec.externalIPs is ignored when spec.type is "ExternalName"',
    ),
    ...when(
      !isNamed && text('externalName') !== '',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ),
    ...when(
      text('trafficDistribution') === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ),
  ]
}

function when(isSo: boolean, warning: string): string[] {
  return isSo ? [warning] : []
}
