/** Endpoints: the addresses of a Service before EndpointSlices. A PUT creates them where they are
 *  missing. */

import { dnsLabel, dnsSubdomain, portNumber, qualifiedName } from '../../validation/formats.ts'
import { checkLegacyAddress, checkReachable } from '../../validation/ip-fields.ts'
import { checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofAddress } from '../../warnings/addresses.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { portProtocols } from '../shared/port-protocols.ts'

export const endpoints: BuiltInKind = kind({
  group: '',
  kind: 'Endpoints',
  plural: 'endpoints',
  createsOnUpdate: true,
  validateCreate: object => checkSubsets(object.in('subsets')),
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    const subsets = object.in('subsets')
    if (!isSame(subsets.value, old.in('subsets').value)) checkSubsets(subsets)
  },
  warn: ofEndpoints,
})

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

function ofEndpoints(object: Place): string[] {
  const owner = object.in('metadata', 'labels', 'endpoints.kubernetes.io/managed-by').text
  if (owner === 'endpoint-controller') return []
  return object
    .in('subsets')
    .items.flatMap(subset => [
      ...subset.in('addresses').items,
      ...subset.in('notReadyAddresses').items,
    ])
    .flatMap(address => ofAddress(address.in('ip')))
}
