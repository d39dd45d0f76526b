/** The status of pods, in the order in which the server checks it. */

import { type JsonValue, parseAddress } from '@watchglass/go'
import { byteLength, dnsLabel, dnsSubdomain, idNumber, qualifiedName } from '../formats.ts'
import { checkLegacyAddress } from '../ip-fields.ts'
import type { Place } from '../place.ts'

export function checkPodStatus(object: Place, old: Place): void {
  const [status, before, spec] = [object.in('status'), old.in('status'), old.in('spec')]
  for (const condition of status.in('conditions').items) checkCondition(condition)
  const nominated = status.in('nominatedNodeName')
  if (nominated.text !== '' && nominated.text !== before.in('nominatedNodeName').text) {
    nominated.mustBe(dnsSubdomain)
    if (spec.in('nodeName').text !== '') {
      nominated.forbidden('may not be set on pods that are already bound to a node')
    }
  }
  checkObserved(status)
  const quality = status.in('qosClass')
  if (quality.text !== before.in('qosClass').text) {
    quality.invalid('field is immutable', quality.text)
  }
  checkEnds(status, before, spec)
  checkClaims(status.in('resourceClaimStatuses'), spec.in('resourceClaims'))
  checkExtendedClaim(status.in('extendedResourceClaimStatus'), spec)
  checkAddresses(status.in('podIPs'), before.in('podIPs'))
  const [hostIP, hostIPs] = [status.in('hostIP'), status.in('hostIPs')]
  const first = hostIPs.item(0).in('ip')
  if (hostIPs.size > 0 && first.text !== hostIP.text) {
    first.invalid('must be equal to `hostIP`', first.text)
  }
  checkAddresses(hostIPs, before.in('hostIPs'))
  for (const list of statusLists) {
    for (const container of status.in(list).items) checkUser(container, spec)
  }
  for (const [list, containers] of Object.entries(containersOfList)) {
    for (const container of status.in(list).items) checkDevices(container, spec.in(containers))
  }
  for (const container of status.in('ephemeralContainerStatuses').items) {
    const devices = container.in('allocatedResourcesStatus')
    if (devices.size > 0) devices.forbidden('must not be specified in container status')
  }
}

const statusLists = [
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
] as const

/** The containers of the lists whose containers may begin again. */
const containersOfList = {
  containerStatuses: 'containers',
  initContainerStatuses: 'initContainers',
} as const

function checkCondition(condition: Place): void {
  const type = condition.in('type')
  checkObserved(condition)
  type.as(`${condition.path}.Type`).invalidFor(qualifiedName(type.text), type.text)
}

function checkObserved(place: Place): void {
  const generation = place.in('observedGeneration')
  if (generation.number < 0) generation.invalid('must be a non-negative integer')
}

/** A container that has ended for good stays so. */
function checkEnds(status: Place, before: Place, spec: Place): void {
  for (const list of statusLists) {
    if (list !== 'ephemeralContainerStatuses' && mayAllBeginAgain(spec)) continue
    for (const [i, known] of before.in(list).items.entries()) {
      const end = known.in('state', 'terminated')
      const name = known.in('name').text
      if (!end.isSet || mayBeginAgain(list, name, spec, end.in('exitCode').number)) continue
      const begun = status
        .in(list)
        .items.filter(now => now.in('name').text === name)
        .filter(now => !now.in('state', 'terminated').isSet)
      // Of regular containers it is told once, whatever their number.
      const told = list === 'ephemeralContainerStatuses' ? begun : begun.slice(0, 1)
      for (const _ of told) {
        const state = status.in(list).item(i).in('state')
        state.forbidden('may not be transitioned to non-terminated state')
      }
    }
  }
}

/** A rule of a container starts all of them. */
function mayAllBeginAgain(spec: Place): boolean {
  return ['initContainers', 'containers']
    .flatMap(list => spec.in(list).items)
    .flatMap(container => container.in('restartPolicyRules').items)
    .some(rule => rule.in('action').text === 'RestartAllContainers')
}

function mayBeginAgain(
  list: (typeof statusLists)[number],
  name: string,
  spec: Place,
  code: number,
): boolean {
  if (list === 'ephemeralContainerStatuses') return false
  const container = containerOf(spec.in(containersOfList[list]), name)
  if (container === undefined) return false
  const own = container.in('restartPolicy').text
  if (own !== '') {
    for (const rule of container.in('restartPolicyRules').items) {
      const codes = rule.in('exitCodes')
      const isIn = codes.in('values').items.some(value => value.number === code)
      if (isIn === (codes.in('operator').text === 'In')) return true
    }
  }
  const policy = own === '' ? spec.in('restartPolicy').text : own
  return policy === 'Always' || (policy === 'OnFailure' && code !== 0)
}

function containerOf(containers: Place, name: string): Place | undefined {
  return containers.items.find(container => container.in('name').text === name)
}

function checkClaims(statuses: Place, claims: Place): void {
  const names = claims.items.map(claim => claim.in('name').text)
  const seen = new Set<string>()
  for (const status of statuses.items) {
    const [name, claim] = [status.in('name'), status.in('resourceClaimName')]
    if (!names.includes(name.text)) {
      name.invalid('must match the name of an entry in `spec.resourceClaims`', name.text)
    }
    if (seen.has(name.text)) name.duplicate(name.text)
    seen.add(name.text)
    if (claim.isSet) claim.mustBe(dnsSubdomain)
  }
}

function checkExtendedClaim(status: Place, spec: Place): void {
  if (!status.isSet) return
  const mappings = status.in('requestMappings')
  if (mappings.size === 0) mappings.required('at least one request mapping is required')
  const seen = new Set<string>()
  for (const mapping of mappings.items) checkMapping(mapping, spec, seen)
  const claim = status.in('resourceClaimName')
  if (claim.text === '') claim.required()
  else claim.mustBe(dnsSubdomain)
}

function checkMapping(mapping: Place, spec: Place, seen: Set<string>): void {
  const members = ['containerName', 'resourceName', 'requestName'].map(name => mapping.in(name))
  const [name, resource, request] = members as [Place, Place, Place]
  const lists = ['initContainers', 'containers'].flatMap(list => spec.in(list).items)
  const container = lists.find(one => one.in('name').text === name.text)
  if (container === undefined) {
    const detail =
      'must match the name of an entry in spec.initContainers.name or spec.containers.name'
    name.invalid(detail, name.text)
  } else if (!container.in('resources', 'requests').in(resource.text).isSet) {
    const detail =
      'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests'
    resource.invalid(detail, resource.text)
  }
  const path = mapping.path.replace(/\.requestMappings\[\d+\]$/, '.requestName')
  request.as(path).mustBe(dnsLabel)
  const key = JSON.stringify(members.map(({ text }) => text))
  if (seen.has(key)) for (const member of members) member.duplicate(member.text)
  seen.add(key)
}

/** One address for each family. Those that were there before are left alone. */
function checkAddresses(list: Place, before: Place): void {
  const known = before.items.map(item => item.in('ip').text)
  const addresses = list.items.map(item => item.in('ip').text)
  for (const [i, item] of list.items.entries()) {
    checkLegacyAddress(item.as(item.path, addresses[i] ?? ''), known)
  }
  if (list.size < 2) return
  const parsed = addresses.map(parseAddress)
  const wrong = parsed.indexOf(undefined)
  if (wrong >= 0) {
    list.failed(
      `failed to check for dual stack with error:invalid IP[${wrong}]: ${addresses[wrong] ?? ''}`,
    )
  }
  const families = new Set(parsed.map(address => address?.isV4 === true || address?.isMapped))
  if (wrong < 0 && families.size === 2 && list.size === 2) return
  const shown: JsonValue = addresses.map(address => new Map([['IP', address]]))
  list.invalid('may specify no more than one IP for each IP family', shown)
}

function checkUser(container: Place, spec: Place): void {
  const linux = container.in('user', 'linux')
  if (!linux.isSet) return
  if (spec.in('os', 'name').text === 'windows') linux.forbidden('cannot be set for a windows pod')
  const ids = [linux.in('uid'), linux.in('gid'), ...linux.in('supplementalGroups').items]
  for (const id of ids) id.invalidFor(idNumber(id.number), id.value ?? 0)
}

/** The health of devices: of resources and of claims that the container asks for. */
function checkDevices(status: Place, containers: Place): void {
  const container = containerOf(containers, status.in('name').text)
  for (const device of status.in('allocatedResourcesStatus').items) {
    if (container !== undefined) checkDeviceName(device.in('name'), container)
    const seen = new Set<string>()
    for (const resource of device.in('resources').items) {
      const [id, message] = [resource.in('resourceID'), resource.in('message')]
      resource.in('health').oneOf(['Healthy', 'Unhealthy', 'Unknown'], 'unsupported')
      if (message.value === '') message.required('must be non-empty if specified')
      if (byteLength(message.text) > 1024) message.tooLong(1024)
      if (seen.has(id.text)) id.duplicate()
      seen.add(id.text)
    }
  }
}

function checkDeviceName(name: Place, container: Place): void {
  if (name.text.startsWith('claim:')) {
    if (claimTexts(container).includes(name.text)) return
    name.invalid(
      "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
    )
  } else if (!container.in('resources', 'requests').in(name.text).isSet) {
    name.invalid("must match one of the container's resource requests", name.text)
  }
}

function claimTexts(container: Place): string[] {
  return container.in('resources', 'claims').items.map(claim => {
    const request = claim.in('request').text
    return `claim:${claim.in('name').text}${request === '' ? '' : `/${request}`}`
  })
}
