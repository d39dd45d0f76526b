/** Fields of a Service that may not change. */

import { qualifiedName } from '../formats.ts'
import type { Place } from '../place.ts'

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
    if (!isHeadless(spec) && !isHeadless(before)) checkFamiliesUpdate(spec, before)
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

function checkClusterIPsUpdate(spec: Place, before: Place): void {
  const addresses = spec.in('clusterIPs')
  const [now, then] = [addresses.texts, before.in('clusterIPs').texts]
  const say = (i: number, detail: string): void => {
    addresses.as(`spec.clusterIPs[${i}]`).invalid(detail, addresses.value ?? null)
  }
  if (then.length === now.length) {
    for (const [i, address] of then.entries()) if (address !== now[i]) say(i, unchangeable)
    return
  }
  if (then.length > now.length) {
    if (now.length === 0) say(0, 'primary clusterIP can not be unset')
    else if (now[0] !== then[0]) say(0, unchangeable)
    if (now.length === 1) checkReleased(spec, 'clusterIP')
  } else if (then.length > 0 && now[0] !== then[0]) say(0, unchangeable)
}

function checkReleased(spec: Place, what: string): void {
  const policy = spec.in('ipFamilyPolicy')
  if (policy.text === 'SingleStack') return
  policy.invalid(
    `must be set to 'SingleStack' when releasing the secondary ${what}`,
    policy.value ?? null,
  )
}

function checkFamiliesUpdate(spec: Place, before: Place): void {
  const families = spec.in('ipFamilies')
  const [now, then] = [families.texts, before.in('ipFamilies').texts]
  const first = families.as('spec.ipFamilies[0]')
  const addresses = spec.in('clusterIPs')
  if (then.length === now.length) {
    for (const [i, family] of then.entries()) {
      if (family !== now[i]) first.invalid(unchangeable, families.value ?? null)
    }
    return
  }
  if (then.length > now.length) {
    if (addresses.size === 0) {
      first.invalid('primary ipFamily can not be unset', families.value ?? null)
    }
    if (now.length > 0 && now[0] !== then[0]) first.invalid(unchangeable, addresses.value ?? null)
    if (now.length === 1) checkReleased(spec, 'ipFamily')
  } else if (then.length > 0 && now[0] !== then[0]) {
    first.invalid(unchangeable, addresses.value ?? null)
  }
}

function checkLoadBalancerUpdate(spec: Place, before: Place): void {
  const [now, then] = [spec.in('loadBalancerClass'), before.in('loadBalancerClass')]
  if (isLoadBalancer(spec) && isLoadBalancer(before)) {
    if (now.text !== then.text || now.isSet !== then.isSet) {
      now.invalid(unchangeable, now.value ?? null)
    }
  }
}
