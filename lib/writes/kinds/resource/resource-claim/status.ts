/** The status of ResourceClaims: devices that were given, who uses them, and what drivers say. */

import { addressText, type JsonValue, parsePrefix, textFromTree } from '@watchglass/go'
import { checkConditions } from '../../../validation/conditions.ts'
import { byteLength, dnsLabel } from '../../../validation/formats.ts'
import { internalValue } from '../../../validation/internal-types.ts'
import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'
import { checkNodeSelector } from '../../../validation/pods/scheduling.ts'
import { checkDriverName } from '../../../validation/pods/volumes.ts'
import {
  checkNames,
  checkOpaque,
  checkReference,
  hasSameParameters,
  type Requests,
  requestsOf,
} from '../shared/claim-parts.ts'
import { checkBindings, checkPoolName, checkSet } from '../shared/device-sets.ts'

const dataMaxBytes = 10 * 1024

export function checkClaimStatus(object: Place, old: Place): void {
  const status = object.in('status')
  const [reserved, allocation] = [status.in('reservedFor'), status.in('allocation')]
  checkSet(reserved, 256, { key: 'uid', check: checkConsumer })
  checkDevices(status)
  if (reserved.size > 0) {
    if (!allocation.isSet) {
      reserved.forbidden('may not be specified when `allocated` is not set')
    } else if (object.in('metadata', 'deletionTimestamp').isSet) {
      checkNoNewConsumers(reserved, old.in('status', 'reservedFor'))
    }
  }
  if (!allocation.isSet) return
  const before = old.in('status', 'allocation')
  if (!before.isSet) checkAllocation(allocation, requestsOf(object.in('spec', 'devices')))
  else if (
    !isSame(allocation.value, before.value) ||
    !hasSameParameters(allocation.in('devices'), before.in('devices'))
  ) {
    const shown = internalValue('AllocationResult', allocation.value)
    allocation.invalid('field is immutable', shown)
  }
}

function checkConsumer(consumer: Place): void {
  for (const name of ['resource', 'name', 'uid']) {
    if (consumer.in(name).text === '') consumer.in(name).required()
  }
}

function checkNoNewConsumers(reserved: Place, old: Place): void {
  const known = new Set(old.items.map(item => textFromTree(item.value ?? null)))
  if (reserved.items.every(item => known.has(textFromTree(item.value ?? null)))) return
  reserved.forbidden(
    'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
  )
}

/** A device as errors show it, and by which devices are told apart. */
function idOf(device: Place): Map<string, JsonValue> {
  const members = ['driver', 'pool', 'device', 'shareID'].map((name): [string, JsonValue] => [
    name.replace(/^./, first => first.toUpperCase()),
    device.in(name).text,
  ])
  return new Map(members)
}

function checkDevices(status: Place): void {
  const allocated = new Set(
    status.in('allocation', 'devices', 'results').items.map(result => textFromTree(idOf(result))),
  )
  const devices = status.in('devices').items
  for (const device of devices) checkDevice(device, allocated)
  const seen = new Set<string>()
  for (const device of devices) {
    const id = idOf(device)
    const text = textFromTree(id)
    if (seen.has(text)) device.duplicate(id)
    seen.add(text)
  }
}

function checkDevice(device: Place, allocated: ReadonlySet<string>): void {
  checkDeviceName(device)
  const id = idOf(device)
  if (!allocated.has(textFromTree(id))) {
    device.invalid('must be an allocated device in the claim', id)
  }
  const [conditions, data] = [device.in('conditions'), device.in('data')]
  if (conditions.size > 8) conditions.tooMany(8)
  checkConditions(conditions)
  if (data.isSet) {
    if (byteLength(textFromTree(data.value ?? null)) > dataMaxBytes) data.tooLong(dataMaxBytes)
    else if (data.object === undefined) {
      data.invalid('must be a valid JSON object', '<value omitted>')
    }
  }
  checkNetwork(device.in('networkData'))
}

/** The driver, the pool and the device, and which share of it. */
function checkDeviceName(device: Place): void {
  checkDriverName(device.in('driver'))
  checkPoolName(device.in('pool'))
  device.in('device').mustBe(dnsLabel)
  if (device.in('shareID').isSet) checkUid(device.in('shareID'))
}

/** As google/uuid has it, of which only one form is taken. */
function checkUid(uid: Place): void {
  const { text } = uid
  const problem = uidProblem(text)
  if (problem !== undefined) uid.invalid(`error validating uid: ${problem}`)
  else if (text.length !== 36 || text !== text.toLowerCase()) {
    uid.invalid(
      'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
    )
  }
}

function uidProblem(text: string): string | undefined {
  const length = byteLength(text)
  const wrong = 'invalid UUID format'
  if (length === 32) return /^[\da-f]{32}$/i.test(text) ? undefined : wrong
  if (length === 38 && !(text.startsWith('{') && text.endsWith('}'))) {
    return 'invalid bracketed UUID format'
  }
  if (length === 45 && !/^urn:uuid:/i.test(text)) {
    return `invalid urn prefix: ${JSON.stringify(text.slice(0, 9))}`
  }
  if (![36, 38, 45].includes(length)) return `invalid UUID length: ${length}`
  const start = length === 38 ? 1 : length - 36
  const bare = text.slice(start, start + 36)
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(bare) ? undefined : wrong
}

function checkNetwork(network: Place): void {
  const [name, address, ips] = [
    network.in('interfaceName'),
    network.in('hardwareAddress'),
    network.in('ips'),
  ]
  if (byteLength(name.text) > 256) name.tooLong(256)
  if (byteLength(address.text) > 128) address.tooLong(128)
  if (ips.size > 16) {
    ips.tooMany(16)
    return
  }
  for (const ip of ips.items) checkInterfaceAddress(ip)
  const seen = new Set<string>()
  for (const ip of ips.items) {
    if (seen.has(ip.text)) ip.duplicate()
    seen.add(ip.text)
  }
}

/** An address with the length of its network's prefix. */
function checkInterfaceAddress(place: Place): void {
  const prefix = parsePrefix(place.text)
  if (prefix === undefined) {
    place.invalid('must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)')
    return
  }
  const { address, length } = prefix
  const shown = `${addressText(address)}/${address.isMapped && length > 32 ? length - 96 : length}`
  if (place.text !== shown) place.invalid(`must be in canonical form ("${shown}")`)
}

function checkAllocation(allocation: Place, requests: Requests): void {
  const [results, configs] = [
    allocation.in('devices', 'results'),
    allocation.in('devices', 'config'),
  ]
  if (results.size > 32) results.tooMany(32)
  else for (const result of results.items) checkResult(result, requests)
  if (configs.size > 64) configs.tooMany(64)
  else {
    for (const config of configs.items) {
      config.in('source').oneOf(['FromClaim', 'FromClass'], 'required')
      checkNames(config.in('requests'), requests)
      checkOpaque(config)
    }
  }
  if (allocation.in('nodeSelector').isSet) checkNodeSelector(allocation.in('nodeSelector'))
}

function checkResult(result: Place, requests: Requests): void {
  checkReference(result.in('request'), requests)
  checkDriverName(result.in('driver'))
  checkPoolName(result.in('pool'))
  result.in('device').mustBe(dnsLabel)
  checkBindings(result)
  if (result.in('shareID').isSet) checkUid(result.in('shareID'))
}
