/** Services: the addresses and ports that they are given, and what each type of Service
 *  may have. */

import { itemsOf, JsonNumber, type JsonValue, parseAddress } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import {
  dnsLabel,
  dnsSubdomain,
  portName,
  portNumber,
  qualifiedName,
} from '../../validation/formats.ts'
import {
  checkLegacyAddress,
  checkLegacyPrefix,
  checkReachable,
} from '../../validation/ip-fields.ts'
import {
  checkChangedMeta,
  checkFinalizerDomains,
  checkLabels,
  checkObjectMeta,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofAddress, ofPrefix } from '../../warnings/addresses.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { portProtocols } from '../shared/port-protocols.ts'
import { checkServiceAddresses } from './service/addresses.ts'
import {
  alignAddresses,
  allocate,
  choosePolicy,
  dropWhatTheTypeLacks,
  keepAllocated,
  keepOneFamily,
  mayHaveAddresses,
  restoreInternalPolicy,
  takenNumbers,
} from './service/allocation.ts'
import { specOf } from './service/spec.ts'
import {
  checkLoadBalancerClass,
  checkServiceUpdate,
  isHeadless,
  isLoadBalancer,
  needsHealthCheck,
} from './service/updates.ts'

export const service: BuiltInKind = kind({
  group: '',
  kind: 'Service',
  plural: 'services',
  hasStatus: true,
  createsOnUpdate: true,
  returnsDeleted: true,
  restore: restoreInternalPolicy,
  prepareCreate: (object, context) => {
    const spec = specOf(object)
    if (spec === undefined) return
    const address = textOf(spec.get('clusterIP'))
    if (address !== '' && itemsOf(spec.get('clusterIPs')).length === 0) {
      spec.set('clusterIPs', [address])
    }
    choosePolicy(spec, undefined)
    if (mayHaveAddresses(object, undefined)) allocate(spec, context)
  },
  prepareUpdate: (object, old, context) => {
    const [spec, known] = [specOf(object), specOf(old)]
    if (spec === undefined || known === undefined) return
    keepAllocated(spec, known)
    alignAddresses(spec, known)
    choosePolicy(spec, known)
    keepOneFamily(spec, known)
    if (!mayHaveAddresses(object, old)) return
    allocate(spec, context)
    dropWhatTheTypeLacks(object, spec, known)
  },
  refuseTaken: (object, old, { numbers }) => {
    const spec = specOf(object)
    return spec === undefined ? [] : takenNumbers(spec, old && specOf(old), numbers)
  },
  hasOwnMetadata: true,
  validateCreate: object => {
    if (!checkServiceAddresses(object, undefined)) return
    checkObjectMeta(object.in('metadata'), { isNamespaced: true, name: dnsLabel })
    checkFinalizerDomains(object.in('metadata'))
    checkService(object, undefined)
  },
  validateUpdate: (object, old) => {
    if (!checkServiceAddresses(object, old)) return
    checkChangedMeta(object, old)
    checkServiceUpdate(object, old)
    checkService(object, old)
  },
  warn: ofService,
  subresources: {
    status: {
      validate: checkServiceStatus,
      warn: object =>
        object
          .in('status', 'loadBalancer', 'ingress')
          .items.flatMap(item => ofAddress(item.as(item.path, item.in('ip').value))),
    },
  },
})

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

const topologyHints = 'service.kubernetes.io/topology-aware-hints'

function ofService(service: Place): string[] {
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
