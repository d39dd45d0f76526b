/** The meaning of the type of a Service. */

import { itemsOf, type JsonObject } from '@watchglass/go'
import { textOf } from '../../../metadata.ts'

export function specOf(object: JsonObject): JsonObject | undefined {
  const spec = object.get('spec')
  return spec instanceof Map ? spec : undefined
}

export function typeOf(spec: JsonObject): string {
  return textOf(spec.get('type'))
}

export function isExternal(spec: JsonObject): boolean {
  const type = typeOf(spec)
  if (type === 'LoadBalancer' || type === 'NodePort') return true
  return type === 'ClusterIP' && itemsOf(spec.get('externalIPs')).length > 0
}

export function hasNodePorts(spec: JsonObject): boolean {
  return typeOf(spec) === 'NodePort' || typeOf(spec) === 'LoadBalancer'
}

export function getsNodePorts(spec: JsonObject): boolean {
  return hasNodePorts(spec) && !isWithoutPorts(spec)
}

/** A load balancer that wants none of the nodes' ports. */
function isWithoutPorts(spec: JsonObject): boolean {
  return typeOf(spec) === 'LoadBalancer' && spec.get('allocateLoadBalancerNodePorts') === false
}

export function hasHealthPort(spec: JsonObject): boolean {
  return typeOf(spec) === 'LoadBalancer' && spec.get('externalTrafficPolicy') === 'Local'
}

export function hasAddress(spec: JsonObject): boolean {
  return typeOf(spec) !== 'ExternalName'
}
