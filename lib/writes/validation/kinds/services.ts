/** Services and Endpoints. */

import { JsonNumber, type JsonValue, parseAddress } from '@watchglass/go'
import { dnsLabel, dnsSubdomain, portName, portNumber, qualifiedName } from '../formats.ts'
import { checkLegacyAddress, checkLegacyPrefix, checkReachable } from '../ip-fields.ts'
import type { KindRules } from '../kind-rules.ts'
import {
  checkFinalizerDomains,
  checkLabels,
  checkNewMeta,
  checkObjectMeta,
  checkChangedMeta,
  isSame,
} from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkServiceAddresses } from './service-addresses.ts'
import {
  checkLoadBalancerClass,
  checkServiceUpdate,
  isHeadless,
  isLoadBalancer,
  needsHealthCheck,
} from './service-updates.ts'

export const serviceRules: Readonly<Record<string, KindRules>> = {
  Service: {
    hasOwnMetadata: true,
    create: object => {
      if (!checkServiceAddresses(object, undefined)) return
      checkObjectMeta(object.in('metadata'), { isNamespaced: true, name: dnsLabel })
      checkFinalizerDomains(object.in('metadata'))
      checkService(object, undefined)
    },
    update: (object, old) => {
      if (!checkServiceAddresses(object, old)) return
      checkChangedMeta(object, old)
      checkServiceUpdate(object, old)
      checkService(object, old)
    },
    subresources: { status: checkServiceStatus },
  },
  Endpoints: {
    create: object => checkSubsets(object.in('subsets')),
    update: (object, old) => {
      checkNewMeta(object)
      const subsets = object.in('subsets')
      if (!isSame(subsets.value, old.in('subsets').value)) checkSubsets(subsets)
    },
  },
}

export const portProtocols: readonly string[] = ['SCTP', 'TCP', 'UDP']
const serviceTypes = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

function checkService(object: Place, old: Place | undefined): void {
  checkTopologyAnnotations(object)
  const spec = object.in('spec')
  const type = spec.in('type').text
  const ports = spec.in('ports')
  if (ports.size === 0 && !isHeadless(spec) && type !== 'ExternalName') ports.required()
  checkAddressesOfType(spec, type)
  const names = new Set<string>()
  for (const port of ports.items) checkPort(port, { isNameRequired: ports.size > 1, names })
  checkLabels(spec.in('selector'))
  checkAffinity(spec)
  const knownAddresses = old?.in('spec', 'externalIPs').texts ?? []
  for (const address of spec.in('externalIPs').items) {
    const before = address.errors.length
    checkLegacyAddress(address, knownAddresses)
    if (address.errors.length === before) checkReachable(address)
  }
  spec.in('type').oneOf(serviceTypes, 'required')
  checkPortNumbers(spec)
  checkSourceRanges(object, old)
  checkLoadBalancer(spec)
  checkTrafficPolicies(spec)
}

function checkTopologyAnnotations(object: Place): void {
  const hintsName = 'service.kubernetes.io/topology-aware-hints'
  const modeName = 'service.kubernetes.io/topology-mode'
  const annotations = object.in('metadata', 'annotations')
  const [hints, mode] = [annotations.in(hintsName), annotations.in(modeName)]
  if (hints.value === undefined || mode.value === undefined || hints.text === mode.text) return
  annotations
    .as(`metadata.annotations[${modeName}]`, mode.value)
    .invalid(`must match annotations[${hintsName}] when both are specified`)
}

function checkAddressesOfType(spec: Place, type: string): void {
  if (type === 'LoadBalancer' || type === 'NodePort') {
    if (isHeadless(spec)) {
      spec.as('spec.clusterIPs[0]', 'None').invalid(`may not be set to 'None' for ${type} services`)
    }
  } else if (type === 'ExternalName') {
    const detail = 'may not be set for ExternalName services'
    if (spec.in('clusterIPs').size > 0) spec.in('clusterIPs').forbidden(detail)
    if (spec.in('ipFamilies').size > 0) spec.in('ipFamilies').forbidden(detail)
    if (spec.in('ipFamilyPolicy').isSet) spec.in('ipFamilyPolicy').forbidden(detail)
    const name = spec.in('externalName').text.replace(/\.$/, '')
    const place = spec.as('spec.externalName', name)
    if (name === '') place.required()
    else place.mustBe(dnsSubdomain)
  }
}

interface PortContext {
  readonly isNameRequired: boolean
  readonly names: Set<string>
}

function checkPort(port: Place, { isNameRequired, names }: PortContext): void {
  const name = port.in('name')
  if (name.text === '') {
    if (isNameRequired) name.required()
  } else {
    name.mustBe(dnsLabel)
    if (names.has(name.text)) name.duplicate()
    names.add(name.text)
  }
  port.in('port').invalidFor(portNumber(port.in('port').number), port.in('port').number)
  port.in('protocol').oneOf(portProtocols, 'required')
  checkPortOrName(port.in('targetPort'))
  if (port.in('appProtocol').isSet) port.in('appProtocol').mustBe(qualifiedName)
}

/** A port by its number or by its name. */
export function checkPortOrName(port: Place): void {
  if (typeof port.value === 'string') port.mustBe(portName)
  else port.invalidFor(portNumber(port.number), port.number)
}

function checkAffinity(spec: Place): void {
  const affinity = spec.in('sessionAffinity')
  affinity.oneOf(['ClientIP', 'None'], 'required')
  const config = spec.in('sessionAffinityConfig')
  if (affinity.text === 'None' && config.isSet) {
    config.forbidden('must not be set when session affinity is None')
  }
  if (affinity.text !== 'ClientIP') return
  const [clientIP, timeout] = [config.in('clientIP'), config.in('clientIP', 'timeoutSeconds')]
  const missing = [config, clientIP, timeout].find(place => !place.isSet)
  if (missing !== undefined) missing.required('when session affinity type is ClientIP')
  else if (timeout.number <= 0 || timeout.number > 86400) {
    timeout.invalid('must be greater than 0 and less than 86400')
  }
}

function checkPortNumbers(spec: Place): void {
  const ports = spec.in('ports').items
  if (spec.in('type').text === 'ClusterIP') {
    for (const port of ports) {
      if (port.in('nodePort').number === 0) continue
      port.in('nodePort').forbidden("may not be used when `type` is 'ClusterIP'")
    }
  }
  const nodePorts = new Set<string>()
  for (const port of ports) {
    const key = `${port.in('protocol').text} ${port.in('nodePort').number}`
    if (port.in('nodePort').number === 0) continue
    if (nodePorts.has(key)) port.in('nodePort').duplicate()
    nodePorts.add(key)
  }
  const numbers = new Set<string>()
  for (const port of ports) {
    const key = `${port.in('protocol').text} ${port.in('port').number}`
    if (numbers.has(key)) port.duplicate(bareServicePort(port))
    numbers.add(key)
  }
}

/** The server's own type of a port, with nothing but what tells ports apart. */
function bareServicePort(port: Place): JsonValue {
  return new Map<string, JsonValue>([
    ['Name', ''],
    ['Protocol', port.in('protocol').text],
    ['AppProtocol', null],
    ['Port', port.in('port').value ?? new JsonNumber('0')],
    ['TargetPort', new JsonNumber('0')],
    ['NodePort', new JsonNumber('0')],
  ])
}

const sourceRangesName = 'service.beta.kubernetes.io/load-balancer-source-ranges'

function checkSourceRanges(object: Place, old: Place | undefined): void {
  const spec = object.in('spec')
  const detail = "may only be used when `type` is 'LoadBalancer'"
  const ranges = spec.in('loadBalancerSourceRanges')
  if (ranges.size > 0) {
    // The server's own spelling.
    const place = ranges.as('spec.LoadBalancerSourceRanges')
    if (!isLoadBalancer(spec)) place.forbidden(detail)
    const known = old?.in('spec', 'loadBalancerSourceRanges').texts.map(text => text.trim())
    for (const item of place.items) checkLegacyPrefix(item.as(item.path, item.text.trim()), known)
    return
  }
  const annotation = object.in('metadata', 'annotations', sourceRangesName)
  if (annotation.value === undefined) return
  const place = annotation.as(`metadata.annotations[${sourceRangesName}]`)
  if (!isLoadBalancer(spec)) place.forbidden(detail)
  const before = old?.in('metadata', 'annotations', sourceRangesName)
  if (before?.value === annotation.value || annotation.text.trim() === '') return
  for (const text of annotation.text.trim().split(',')) {
    checkLegacyPrefix(place.as(place.path, text.trim()))
  }
}

function checkLoadBalancer(spec: Place): void {
  const allocate = spec.in('allocateLoadBalancerNodePorts')
  const detail = "may only be used when `type` is 'LoadBalancer'"
  if (allocate.isSet && !isLoadBalancer(spec)) allocate.forbidden(detail)
  if (!allocate.isSet && isLoadBalancer(spec)) {
    allocate.as('allocateLoadBalancerNodePorts').required()
  }
  checkLoadBalancerClass(spec)
}

function checkTrafficPolicies(spec: Place): void {
  const type = spec.in('type').text
  const external = spec.in('externalTrafficPolicy')
  const isExternal =
    isLoadBalancer(spec) ||
    type === 'NodePort' ||
    (type === 'ClusterIP' && spec.in('externalIPs').size > 0)
  if (isExternal) external.oneOf(['Cluster', 'Local'], 'required')
  else if (external.text !== '') {
    external.invalid('may only be set for externally-accessible services')
  }
  const port = spec.in('healthCheckNodePort')
  if (!needsHealthCheck(spec)) {
    if (port.number !== 0) {
      port.invalid(
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      )
    }
  } else if (port.number === 0) port.required()
  else port.invalidFor(portNumber(port.number))
  const internal = spec.in('internalTrafficPolicy')
  if (internal.isSet) internal.oneOf(['Cluster', 'Local'], 'unsupported')
  else if (['NodePort', 'LoadBalancer', 'ClusterIP'].includes(type)) internal.required()
  const distribution = spec.in('trafficDistribution')
  if (distribution.isSet) distribution.oneOf(distributions, 'unsupported')
}

function checkServiceStatus(object: Place, old: Place): void {
  checkChangedMeta(object, old)
  const ingress = object.in('status', 'loadBalancer', 'ingress')
  if (!isLoadBalancer(object.in('spec')) && ingress.size > 0) {
    ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'")
    return
  }
  const known = old.in('status', 'loadBalancer', 'ingress').items.map(item => item.in('ip').text)
  for (const item of ingress.items) checkIngressPoint(item, known)
}

function checkIngressPoint(item: Place, known: readonly string[]): void {
  const [ip, mode, hostname] = [item.in('ip'), item.in('ipMode'), item.in('hostname')]
  if (ip.text !== '') checkLegacyAddress(ip, known)
  if (!mode.isSet) {
    if (ip.text !== '') mode.required('must be specified when `ip` is set')
  } else if (ip.text === '') mode.forbidden('may not be specified when `ip` is not set')
  else mode.oneOf(['Proxy', 'VIP'], 'unsupported')
  if (hostname.text === '') return
  hostname.mustBe(dnsSubdomain)
  if (parseAddress(hostname.text) !== undefined) {
    hostname.invalid('must be a DNS name, not an IP address')
  }
}

function checkSubsets(subsets: Place): void {
  for (const subset of subsets.items) {
    const [ready, notReady] = [subset.in('addresses'), subset.in('notReadyAddresses')]
    if (ready.size === 0 && notReady.size === 0) {
      subset.required('must specify `addresses` or `notReadyAddresses`')
    }
    for (const address of [...ready.items, ...notReady.items]) checkEndpoint(address)
    const ports = subset.in('ports')
    for (const port of ports.items) checkEndpointPort(port, ports.size > 1)
  }
}

function checkEndpoint(address: Place): void {
  checkLegacyAddress(address.in('ip'))
  if (address.in('hostname').text !== '') address.in('hostname').mustBe(dnsLabel)
  if (address.in('nodeName').isSet) address.in('nodeName').mustBe(dnsSubdomain)
  checkReachable(address.in('ip'))
}

function checkEndpointPort(port: Place, isNameRequired: boolean): void {
  const name = port.in('name')
  if (name.text !== '') name.mustBe(dnsLabel)
  else if (isNameRequired) name.required()
  port.in('port').invalidFor(portNumber(port.in('port').number), port.in('port').number)
  port.in('protocol').oneOf(portProtocols, 'required')
  if (port.in('appProtocol').isSet) port.in('appProtocol').mustBe(qualifiedName)
}
