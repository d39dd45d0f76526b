/** EndpointSlices, Leases, PodDisruptionBudgets and PriorityClasses. */

import { fullyQualifiedDomainName } from '../domain-names.ts'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../formats.ts'
import { checkAddress, checkLegacyAddress, checkReachable } from '../ip-fields.ts'
import { checkConditions } from '../conditions.ts'
import type { KindRules } from '../kind-rules.ts'
import {
  checkChangedMeta,
  checkFinalizerDomains,
  checkImmutable,
  checkLabels,
  checkNewMeta,
  checkObjectMeta,
  isSame,
} from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkLabelSelector } from '../selectors.ts'
import { portProtocols } from './services.ts'
import { checkAtMostAll, checkPercent } from './workloads.ts'

export const policyRules: Readonly<Record<string, KindRules>> = {
  'EndpointSlice.discovery.k8s.io': {
    hasOwnMetadata: true,
    create: object => {
      checkNewMeta(object)
      checkSlice(object)
    },
    update: (object, old) => {
      checkNewMeta(object)
      checkSlice(object, old)
      checkImmutable(object.in('addressType'), old.in('addressType'))
    },
  },
  'Lease.coordination.k8s.io': {
    hasFreeFinalizers: true,
    create: object => checkLease(object.in('spec')),
    update: object => checkLease(object.in('spec')),
  },
  'PodDisruptionBudget.policy': {
    hasOwnMetadata: true,
    create: object => checkBudget(object.in('spec')),
    update: object => checkBudget(object.in('spec')),
    subresources: {
      status: object => {
        checkConditions(object.in('status', 'conditions'))
        for (const name of counts) object.in('status', name).notNegative()
      },
    },
  },
  'PriorityClass.scheduling.k8s.io': {
    hasOwnMetadata: true,
    create: object => {
      checkObjectMeta(object.in('metadata'), { isNamespaced: false, name: dnsSubdomain })
      checkFinalizerDomains(object.in('metadata'))
      checkPriority(object)
    },
    update: (object, old) => {
      checkChangedMeta(object, old)
      if (object.in('value').number !== old.in('value').number) {
        object.in('value').forbidden('may not be changed in an update.')
      }
      checkImmutable(object.in('preemptionPolicy'), old.in('preemptionPolicy'))
    },
  },
}

function checkSlice(object: Place, old?: Place): void {
  const type = object.in('addressType')
  type.oneOf(['FQDN', 'IPv4', 'IPv6'], 'required')
  checkSlicePorts(object.in('ports'))
  const endpoints = object.in('endpoints')
  if (old !== undefined && isSame(endpoints.value, old.in('endpoints').value)) return
  if (endpoints.size > 1000) endpoints.tooMany(1000)
  else for (const endpoint of endpoints.items) checkEndpoint(endpoint, type.text)
}

function checkSlicePorts(ports: Place): void {
  if (ports.size > 20_000) {
    ports.tooMany(20_000)
    return
  }
  const names = new Set<string>()
  for (const port of ports.items) {
    const [name, protocol, application] = [
      port.in('name'),
      port.in('protocol'),
      port.in('appProtocol'),
    ]
    if (name.text !== '') name.mustBe(dnsLabel)
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    if (protocol.isSet) protocol.oneOf(portProtocols, 'unsupported')
    else protocol.required()
    if (application.isSet) application.mustBe(qualifiedName)
  }
}

function checkEndpoint(endpoint: Place, type: string): void {
  const addresses = endpoint.in('addresses')
  if (addresses.size === 0) addresses.required('must contain at least 1 address')
  else if (addresses.size > 100) addresses.tooMany(100)
  for (const address of addresses.items) checkTypedAddress(address, type, addresses)
  if (endpoint.in('nodeName').isSet) endpoint.in('nodeName').mustBe(dnsSubdomain)
  const topology = endpoint.in('deprecatedTopology')
  if (topology.size > 16) topology.tooMany(16)
  checkLabels(topology)
  if (endpoint.in('hostname').isSet) endpoint.in('hostname').mustBe(dnsLabel)
  const hints = endpoint.in('hints')
  if (hints.isSet) {
    if (checkHints(hints.in('forZones'), 'zone')) checkHints(hints.in('forNodes'), 'node')
  }
}

function checkTypedAddress(address: Place, type: string, addresses: Place): void {
  if (type === 'FQDN') {
    fullyQualifiedDomainName(address)
    return
  }
  if (type !== 'IPv4' && type !== 'IPv6') return
  const before = address.errors.length
  if (type === 'IPv4') checkLegacyAddress(address)
  else checkAddress(address)
  if (address.errors.length > before) return
  if (address.text.includes(':') !== (type === 'IPv6')) {
    addresses.invalid(`must be an ${type} address`, address.text)
  }
  checkReachable(address)
}

/** False if there are so many that nothing else is looked at. */
function checkHints(hints: Place, kind: 'zone' | 'node'): boolean {
  if (hints.size > 8) {
    hints.tooMany(8)
    return false
  }
  const names = new Set<string>()
  for (const hint of hints.items) {
    const name = hint.in('name')
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    name.mustBe(kind === 'zone' ? labelValue : dnsSubdomain)
  }
  return true
}

/** Strategies and preferred holders are switched off: writes drop them. */
function checkLease(spec: Place): void {
  const [duration, transitions] = [spec.in('leaseDurationSeconds'), spec.in('leaseTransitions')]
  if (duration.isSet && duration.number <= 0) duration.invalid('must be greater than 0')
  transitions.notNegative()
}

/** Numbers in the status of a budget. */
const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods']

function checkBudget(spec: Place): void {
  const [least, most, policy] = [
    spec.in('minAvailable'),
    spec.in('maxUnavailable'),
    spec.in('unhealthyPodEvictionPolicy'),
  ]
  if (least.isSet && most.isSet) {
    spec.invalid('minAvailable and maxUnavailable cannot be both set', shownBudget(spec))
  }
  for (const place of [least, most]) {
    if (!place.isSet) continue
    checkPercent(place)
    checkAtMostAll(place)
  }
  checkLabelSelector(spec.in('selector'))
  if (policy.isSet) policy.oneOf(['AlwaysAllow', 'IfHealthyBudget'], 'unsupported')
}

/** The server's own type. */
function shownBudget(spec: Place): Map<string, ReturnType<typeof valueOf>> {
  return new Map([
    ['MinAvailable', valueOf(spec, 'minAvailable')],
    ['Selector', valueOf(spec, 'selector')],
    ['MaxUnavailable', valueOf(spec, 'maxUnavailable')],
    ['UnhealthyPodEvictionPolicy', valueOf(spec, 'unhealthyPodEvictionPolicy')],
  ])
}

function valueOf(spec: Place, name: string): NonNullable<Place['value']> | null {
  return spec.in(name).value ?? null
}

const highestUserPriority = 1_000_000_000
const systemPriorities: Readonly<Record<string, number>> = {
  'system-node-critical': 2000001000,
  'system-cluster-critical': 2000000000,
}

function checkPriority(object: Place): void {
  const [name, value, preemption] = [
    object.in('metadata', 'name'),
    object.in('value'),
    object.in('preemptionPolicy'),
  ]
  if (name.text.startsWith('system-')) {
    const known = Object.hasOwn(systemPriorities, name.text)
      ? systemPriorities[name.text]
      : undefined
    const words =
      "priority class names with 'system-' prefix are reserved for system use only. error: "
    if (known === undefined) {
      name.forbidden(`${words}${name.text} is not a known system priority class`)
    } else if (value.number !== known) {
      name.forbidden(`${words}value of ${name.text} PriorityClass must be ${known}`)
    } else if (object.in('globalDefault').isTrue) {
      name.forbidden(`${words}globalDefault of ${name.text} PriorityClass must be false`)
    }
  } else if (value.number > highestUserPriority) {
    value.forbidden(`maximum allowed value of a user defined priority is ${highestUserPriority}`)
  }
  if (preemption.isSet) preemption.oneOf(['PreemptLowerPriority', 'Never'], 'required')
}
