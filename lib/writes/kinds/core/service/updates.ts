/** Fields of a Service that may not change. */

import { qualifiedName } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'

export function isHeadless(spec: Place): boolean {
  const addresses = spec.in('clusterIPs').texts
  return addresses.length === 1 && addresses[0] === 'None'
}

export function isLoadBalancer(spec: Place): boolean {
  return spec.in('type').text === 'LoadBalancer'
}

export function checkServiceUpdate(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  if (![spec, before].some(place => place.in('type').text === 'ExternalName')) {
    if (!isHeadless(spec) || !isHeadless(before)) checkClusterIPsUpdate(spec, before)
  }
  checkLoadBalancerUpdate(spec, before)
  checkLoadBalancerClass(spec)
  const port = spec.in('healthCheckNodePort')
  const isChecked = needsHealthCheck(spec) && needsHealthCheck(before)
  if (isChecked && port.number !== before.in('healthCheckNodePort').number) {
    port.forbidden('field is immutable')
  }
}

/** Local traffic needs to know which nodes have endpoints. */
export function needsHealthCheck(spec: Place): boolean {
  return isLoadBalancer(spec) && spec.in('externalTrafficPolicy').text === 'Local'
}

export function checkLoadBalancerClass(spec: Place): void {
  const loadBalancerClass = spec.in('loadBalancerClass')
  if (!loadBalancerClass.isSet) return
  if (isLoadBalancer(spec)) loadBalancerClass.mustBe(qualifiedName)
  else loadBalancerClass.forbidden("may only be used when `type` is 'LoadBalancer'")
}

const unchangeable = 'may not change once set'

/** A cluster with one family of addresses gives a Service one, which it keeps. */
function checkClusterIPsUpdate(spec: Place, before: Place): void {
  const addresses = spec.in('clusterIPs')
  const [now, then] = [addresses.texts[0], before.in('clusterIPs').texts[0]]
  if (then === undefined || now === then) return
  addresses.as('spec.clusterIPs[0]').invalid(unchangeable, addresses.shown)
}

function checkLoadBalancerUpdate(spec: Place, before: Place): void {
  const [now, then] = [spec.in('loadBalancerClass'), before.in('loadBalancerClass')]
  if (isLoadBalancer(spec) && isLoadBalancer(before)) {
    if (now.text !== then.text || now.isSet !== then.isSet) {
      now.invalid(unchangeable, now.value ?? null)
    }
  }
}
