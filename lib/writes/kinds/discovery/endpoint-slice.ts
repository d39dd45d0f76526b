/** EndpointSlices: any change but of metadata counts for the generation, as changes of
 *  labels do. */

import { itemsOf, type JsonObject } from '@watchglass/go'
import { isEqual } from '../../metadata.ts'
import { fullyQualifiedDomainName } from '../../validation/domain-names.ts'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../validation/formats.ts'
import { checkAddress, checkLegacyAddress, checkReachable } from '../../validation/ip-fields.ts'
import { checkImmutable, checkLabels, checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofAddress } from '../../warnings/addresses.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { portProtocols } from '../shared/port-protocols.ts'

export const endpointSlice: BuiltInKind = kind({
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  counted: ['*', 'metadata.labels'],
  countsDropped: true,
  prepareCreate: dropTopology,
  prepareUpdate: (object, old) => {
    if (!isEqual(object.get('endpoints'), old.get('endpoints'))) dropTopology(object)
  },
  hasOwnMetadata: true,
  validateCreate: object => {
    checkNewMeta(object)
    checkSlice(object)
  },
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    checkSlice(object, old)
    checkImmutable(object.in('addressType'), old.in('addressType'))
  },
  warn: ofEndpointSlice,
})

/** Topology was written through a version that is gone. */
function dropTopology(object: JsonObject): void {
  for (const endpoint of itemsOf(object.get('endpoints'))) {
    if (endpoint instanceof Map) endpoint.delete('deprecatedTopology')
  }
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

const managedBy = 'endpointslice.kubernetes.io/managed-by'

const controllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']

function ofEndpointSlice(object: Place, old: Place | undefined): string[] {
  const labels = object.in('metadata', 'labels')
  const isNamed = old === undefined && object.in('addressType').text === 'FQDN'
  const addresses = controllers.includes(labels.in(managedBy).text)
    ? []
    : object.in('endpoints').items.flatMap(endpoint => endpoint.in('addresses').items)
  return [
    ...(isNamed ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...addresses.flatMap(ofAddress),
  ]
}
